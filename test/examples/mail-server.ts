import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SMTPServer } from 'smtp-server';

interface Mail {
  to: string[];
  /** Whether the mail arrived over TLS. */
  secure: boolean;
  head: string;
  /** Decoded body. */
  text: string;
}

/** Self-signed certificate and key of `localhost`. The sender of a mail must be configured to trust it. */
export const MAIL_CERTIFICATE = join(__dirname, 'mail-server.pem');

/** Decodes the text of a mail with any Content-Transfer-Encoding. */
function decoded(head: string, body: string): string {
  const [, encoding = '7bit'] = /^Content-Transfer-Encoding: (\S+)/im.exec(head) ?? [];
  if (encoding === 'base64') return Buffer.from(body, 'base64').toString();
  const lines = body.replace(/\r\n/g, '\n');
  if (encoding !== 'quoted-printable') return lines;
  const bytes = lines
    .replace(/=\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString();
}

/** A real mail server on this machine with implicit TLS, as every provider has it. */
export class MailServer {
  readonly mails: Mail[] = [];
  readonly user = 'node-red';
  readonly password = 'a good password';

  private constructor(private readonly server: SMTPServer) {}

  static async start(): Promise<MailServer> {
    const pem = readFileSync(MAIL_CERTIFICATE);
    const server: SMTPServer = new SMTPServer({
      ...{ key: pem, cert: pem, secure: true },
      authOptional: true,
      onAuth: ({ username, password }, _session, answer) => {
        if (username === mailServer.user && password === mailServer.password) answer(null, { user: username });
        else answer(new Error('Invalid user or password'));
      },
      onData: (stream, { secure, envelope }, done) => {
        const chunks: Buffer[] = [];
        stream.on('data', (chunk: Buffer) => chunks.push(chunk));
        stream.on('end', () => {
          const [head = '', ...parts] = Buffer.concat(chunks).toString().split('\r\n\r\n');
          const text = decoded(head, parts.join('\r\n\r\n'));
          mailServer.mails.push({ to: envelope.rcptTo.map(({ address }) => address), secure, head, text });
          done();
        });
      },
    });
    const mailServer = new MailServer(server);
    server.listen(0, '127.0.0.1');
    await once(server.server, 'listening');
    return mailServer;
  }

  get port(): number {
    return (this.server.server.address() as AddressInfo).port;
  }

  close(): Promise<void> {
    return new Promise((closed) => this.server.close(closed));
  }
}
