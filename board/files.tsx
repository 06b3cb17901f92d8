// Files that are dropped on the page, or chosen: first a question, then a progress bar each.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import type { BoardPrinter, Outcome } from '../lib/board/shapes';
import { randomId } from './connection';
import { outcomeOf, untilAnswered } from './presses';
import { current, fail, printerId, printerName, say } from './state';
import { Button, cancelButton, Dialog, Field, may, typed, useBoard } from './ui';
import { t } from './words';

interface Wanted {
  file: File;
  /** As it was typed; Node-RED checks it. */
  copies: string;
}

interface Upload extends Wanted {
  key: string;
  percent: number;
}

const isReady = ({ state }: BoardPrinter<string>): boolean => state !== 'offline';

export function Files() {
  const { values, printers } = useBoard();
  const chooser = useRef<HTMLInputElement>(null);
  const [asked, setAsked] = useState<readonly Wanted[]>([]);
  const [uploads, setUploads] = useState<readonly Upload[]>([]);
  const [printer, choose] = useState('');
  const isAllowed = may('all');
  const hasQueue = values?.facts.hasQueue ?? false;
  const ready = printers.filter((one) => isReady(one) || printerId(one) === printer);
  const chosen = printer || (ready[0] ? printerId(ready[0]) : '');
  const ask = useCallback((files: readonly File[]) => {
    // It stays chosen while the dialog is open, whatever becomes of the printers.
    const ids = current().printers.filter(isReady).map(printerId);
    choose((before) => (ids.includes(before) ? before : (ids[0] ?? '')));
    setAsked(files.map((file) => ({ file, copies: '1' })));
  }, []);
  useDrops(isAllowed, ask);
  if (!isAllowed) return null;

  const add = async (wanted: Wanted) => {
    const { file } = wanted;
    const upload = { ...wanted, key: randomId(), percent: 0 };
    const change = (percent: number | null) =>
      setUploads((before) => [
        ...before.filter(({ key }) => key !== upload.key),
        ...(percent === null ? [] : [{ ...upload, percent }]),
      ]);
    change(0);
    try {
      const more = hasQueue ? { copies: wanted.copies } : { printer: chosen };
      const outcome = await untilAnswered(() => send(upload, more, change));
      if (outcome.ok) say(t('done', { what: file.name }));
      else fail(`${current().failure ?? ''} ${file.name}: ${outcome.message}`.trim());
    } finally {
      change(null);
    }
  };
  const setCopies = (place: number, copies: string) =>
    setAsked((before) => before.map((wanted, at) => (at === place ? { ...wanted, copies } : wanted)));
  const addAll = () => {
    ask([]);
    fail(null);
    void (async () => {
      // One after the other: the browser has few connections.
      for (const wanted of asked) await add(wanted);
    })();
  };
  return (
    <>
      <Button
        label={t('a11y.addFiles')}
        name={t('a11y.addFiles')}
        kind="main"
        onPress={() => chooser.current?.click()}
      />
      <input
        ref={chooser}
        type="file"
        multiple
        hidden
        onChange={({ currentTarget }) => {
          ask([...(currentTarget.files ?? [])]);
          currentTarget.value = '';
        }}
      />
      {uploads.map(({ key, file, percent }) => (
        <div key={key} class="upload">
          <span class="clip">{file.name}</span>
          <div
            class="progress"
            role="progressbar"
            aria-label={file.name}
            aria-valuemin={0}
            aria-valuemax={100}
            aria-valuenow={percent}
          >
            <span style={{ width: `${percent}%` }} />
          </div>
        </div>
      ))}
      {asked.length > 0 && (
        <Dialog name={t('a11y.addFiles')} onClose={() => ask([])}>
          <p>{hasQueue ? t('toQueue', { n: asked.length }) : t('toPrinter', { n: asked.length })}</p>
          <ul class="files">
            {asked.map(({ file, copies }, at) => (
              <li key={at}>
                <span class="clip">{file.name}</span>
                {hasQueue && (
                  <Field label={t('a11y.copies')}>
                    <input
                      type="number"
                      min={1}
                      max={10000}
                      value={copies}
                      aria-label={t('a11y.copiesOf', { file: file.name })}
                      onInput={(event) => setCopies(at, typed(event))}
                    />
                  </Field>
                )}
              </li>
            ))}
          </ul>
          {!hasQueue && (
            <Field label={t('a11y.printer')}>
              <select value={chosen} onChange={(event) => choose(typed(event))}>
                {ready.map((one) => (
                  <option key={printerId(one)} value={printerId(one)}>
                    {printerName(one)}
                  </option>
                ))}
              </select>
            </Field>
          )}
          <div class="bar">
            <Button label={t('a11y.add')} name={t('a11y.add')} kind="main" onPress={addAll} />
            {cancelButton(() => ask([]))}
          </div>
        </Dialog>
      )}
    </>
  );
}

/** Files can be dropped anywhere on the page. */
function useDrops(isAllowed: boolean, ask: (files: readonly File[]) => void): void {
  useEffect(() => {
    const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes('Files') ?? false;
    const over = (event: DragEvent) => {
      if (hasFiles(event)) event.preventDefault();
    };
    const drop = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      // Otherwise the browser leaves the page and opens the file.
      event.preventDefault();
      if (isAllowed) ask([...(event.dataTransfer?.files ?? [])]);
    };
    document.addEventListener('dragover', over);
    document.addEventListener('drop', drop);
    return () => {
      document.removeEventListener('dragover', over);
      document.removeEventListener('drop', drop);
    };
  }, [isAllowed, ask]);
}

/** `fetch` can't tell the progress of an upload. Resolves with null without an answer. */
function send(
  { key, file }: Upload,
  more: Record<string, string>,
  onProgress: (percent: number) => void,
): Promise<Outcome<string> | null> {
  return new Promise((resolve) => {
    const request = new XMLHttpRequest();
    const lost = () => resolve(null);
    request.open('PUT', `file?${new URLSearchParams({ key, name: file.name, ...more }).toString()}`);
    request.setRequestHeader('Content-Type', 'application/octet-stream');
    request.upload.onprogress = ({ loaded, total }) => onProgress(total > 0 ? Math.floor((loaded / total) * 100) : 0);
    request.onload = () => {
      try {
        resolve(outcomeOf(request.status, request.responseText));
      } catch {
        lost();
      }
    };
    request.onerror = lost;
    request.send(file);
  });
}
