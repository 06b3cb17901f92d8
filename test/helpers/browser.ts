/** Plays the user's browser: follows redirects until one leads to `until`, and returns that address. */
export async function followTo(url: string, until: string, headers: Record<string, string> = {}): Promise<URL> {
  let at = url;
  const jar = new Map<string, string>();
  for (let hop = 0; hop < 10; hop++) {
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const answer = await fetch(at, { redirect: 'manual', headers: { ...headers, ...(cookie ? { cookie } : {}) } });
    await answer.arrayBuffer();
    for (const line of answer.headers.getSetCookie()) {
      const [pair = ''] = line.split(';');
      const [name = '', ...value] = pair.split('=');
      jar.set(name, value.join('='));
    }
    const location = answer.headers.get('location');
    if (!location) throw new Error(`No redirect from ${new URL(at).pathname}: ${answer.status}`);
    at = new URL(location, at).href;
    if (at.startsWith(until)) return new URL(at);
  }
  throw new Error('Too many redirects.');
}
