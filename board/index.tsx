// The page of a print board.
import { render } from 'preact';
import { useEffect } from 'preact/hooks';
import { openPrinter } from './address';
import { connect } from './connection';
import { Files } from './files';
import { History } from './history';
import { Needs } from './needs';
import { lookOn } from './picture';
import { PrinterAlone, Printers } from './printers';
import { Queue } from './queue';
import { fail } from './state';
import { Timeline } from './timeline';
import { Button, useBoard } from './ui';
import { clock, loadWords, onRuntime, t } from './words';

function Board() {
  const { values, todo, notices, isLive, since, trouble, message, failure } = useBoard();
  const title = values?.facts.title ?? document.title.replace(/^\(\d+\) /, '');
  const hasQueue = values?.facts.hasQueue ?? false;
  const alone = openPrinter();
  useEffect(() => {
    document.title = todo.length > 0 ? `(${todo.length}) ${title}` : title;
  }, [title, todo.length]);
  return (
    <div class={isLive ? 'page' : 'page old-page'}>
      <header>
        <h1 class="clip">{title}</h1>
        <p role="status" aria-label={t('a11y.connection')} class={isLive ? 'connection live' : 'connection offline'}>
          {t(isLive ? 'liveSince' : 'offlineSince', { time: clock(onRuntime(since)) })}
          {trouble === 'token' && ` ${t('needsToken')}`}
        </p>
        <Files />
      </header>
      {notices.map(({ id, text, level }) => (
        <div key={id} role="note" class={`notice ${level}`}>
          {text}
        </div>
      ))}
      {failure !== null && (
        <div class="failure">
          <p role="alert">{failure}</p>
          <Button label="×" name={t('closeFailure')} onPress={() => fail(null)} />
        </div>
      )}
      <main>
        {values !== null &&
          (alone === null ? (
            <>
              <Needs />
              <Printers />
              {hasQueue && <Queue />}
              {hasQueue && <Timeline />}
              {hasQueue && <History />}
            </>
          ) : (
            <PrinterAlone id={alone} />
          ))}
      </main>
      <p role="status" aria-label={t('a11y.messages')} class="messages">
        {message}
      </p>
    </div>
  );
}

async function begin(): Promise<void> {
  await loadWords(document.body.dataset.version ?? '');
  render(<Board />, document.body);
  connect();
  lookOn();
}

begin().catch(() => {
  // Node-RED went away while the page was loading.
  setTimeout(() => location.reload(), 5_000);
});
