// The prints that have ended.
import { useEffect, useState } from 'preact/hooks';
import type { PastPrint } from '../lib/board/shapes';
import { readJson } from './connection';
import { itemName } from './state';
import { Button, Region, useBoard } from './ui';
import { amount, dateAndTime, duration, money, t, word } from './words';

const PAGE = 50;

interface Page {
  total: number;
  prints: PastPrint<string>[];
}

export function History() {
  const { values, items, isLive } = useBoard();
  const [page, turn] = useState(0);
  const [read, setRead] = useState<Page>({ total: 0, prints: [] });
  const counts = JSON.stringify(values?.counts);
  const endedAt = values?.endedAt ?? null;
  useEffect(() => {
    // A page that was turned while Node-RED was away is read when it is back.
    if (!isLive) return undefined;
    const closing = new AbortController();
    readJson<Page>(`history?page=${page}`, closing.signal)
      .then(setRead)
      .catch(() => undefined);
    return () => closing.abort();
  }, [page, counts, endedAt, items.length, isLive]);
  const { total, prints } = read;
  const currency = values?.facts.currency ?? null;
  return (
    <Region id="history" name={t('a11y.history')}>
      {prints.length === 0 && <p class="calm">{t('noHistory')}</p>}
      {prints.length > 0 && (
        <div class="scroll" tabIndex={0} role="group" aria-label={t('a11y.history')}>
          <table aria-labelledby="history-heading">
            <thead>
              <tr>
                {['ended', 'printer', 'item', 'result', 'duration', 'used', 'cost'].map((name) => (
                  <th key={name} scope="col">
                    {t(`column.${name}`)}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {prints.map((print) => (
                <tr key={print.id}>
                  <td>{dateAndTime(print.endedAt)}</td>
                  <td>{print.printer}</td>
                  <td>{itemName({ name: print.item, itemId: print.itemId })}</td>
                  <td>
                    {word('print', print.result)}
                    {print.reason && ` · ${print.reason}`}
                  </td>
                  <td>{print.seconds !== null && duration(print.seconds)}</td>
                  <td>{print.weight !== null && t('grams', { n: amount(print.weight, 1) })}</td>
                  <td>{print.cost !== null && money(print.cost, currency)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      <div class="bar">
        {page > 0 && <Button label={t('a11y.newer')} name={t('a11y.newer')} onPress={() => turn(page - 1)} />}
        {(page + 1) * PAGE < total && (
          <Button label={t('a11y.older')} name={t('a11y.older')} onPress={() => turn(page + 1)} />
        )}
        <a href="history.csv" download="prints.csv">
          {t('a11y.csv')}
        </a>
      </div>
    </Region>
  );
}
