// The needs that a person has to meet.
import { useLayoutEffect, useState } from 'preact/hooks';
import type { Answer, AnswerKind, BoardPrinter, Need } from '../lib/board/shapes';
import { Picture } from './picture';
import { canTakeBack, press, pressedAnswer, pressLater, takeBack } from './presses';
import { current, itemName, printerId, printerName, type State } from './state';
import { Button, cancelButton, Dialog, Field, may, Region, typed, useBoard } from './ui';
import { age, t } from './words';

/** The one printer that an update of an item names; null: none. */
function chosenPrinter(properties: Answer<string>['properties']): string | null {
  const require = properties.require as { printers?: unknown } | null | undefined;
  const printers = require?.printers;
  return Array.isArray(printers) && typeof printers[0] === 'string' ? printers[0] : null;
}

/** Whole name of the subject of a need. */
function subjectOf(
  need: Need<string>,
  { printers, items }: State,
): { name: string; printer: BoardPrinter<string> | null } {
  const printer =
    printers.find(
      (one) => one.clusterId === need.clusterId && (need.printerId === null || one.printerId === need.printerId),
    ) ?? null;
  const item = items.find(({ itemId }) => itemId === need.itemId);
  const isOfItem = need.kind === 'unknown' || need.kind === 'blocked' || need.kind === 'failed';
  if (isOfItem && item) return { name: itemName(item), printer };
  return { name: printer ? printerName(printer) : (need.name ?? need.clusterId ?? need.itemId ?? need.text), printer };
}

const headingOf = ({ kind }: Need<string>, name: string): string => {
  if (kind === 'sign-in') return t('a11y.signIn');
  return t(`a11y.${kind}`, { printer: name, item: name, material: name });
};

export function Needs() {
  const { todo } = useBoard();
  const plates = todo.filter(({ kind }) => kind === 'plate');
  useFocusAfter(todo);
  return (
    <Region id="needs" name={t('a11y.needs')}>
      {todo.length === 0 && <p class="calm">{t('a11y.nothing')}</p>}
      {may('press') && plates.length > 1 && (
        <div class="bar">
          <Button
            label={t('a11y.allGood')}
            name={t('a11y.allGood')}
            kind="good"
            isPressed={plates.every(({ id }) => pressedAnswer(id) !== undefined)}
            onPress={() => pressAllGood(plates)}
          />
        </div>
      )}
      {todo.length > 0 && (
        <ul class="cards needs-list" aria-labelledby="needs-heading">
          {todo.map((need) => (
            <li key={need.id}>
              <NeedCard need={need} />
            </li>
          ))}
        </ul>
      )}
    </Region>
  );
}

/** A need that was met takes its button away: the focus goes to the next need, else to the heading. */
function useFocusAfter(todo: readonly Need<string>[]): void {
  useLayoutEffect(() => {
    if (!lastFocused || document.activeElement !== document.body) return;
    if (todo.some(({ id }) => id === lastFocused)) return;
    lastFocused = null;
    const next = document.querySelector<HTMLElement>('.needs button') ?? document.getElementById('needs-heading');
    next?.focus();
  }, [todo]);
}
let lastFocused: string | null = null;

/** Presses good, or clear, for the plates without an answer; where all have one, sends these at once. */
function pressAllGood(plates: readonly Need<string>[]): void {
  const open = plates.filter(({ id }) => pressedAnswer(id) === undefined);
  for (const need of open.length > 0 ? open : plates) {
    const answer = need.answers.find(({ kind = '' }) => GOOD.includes(kind));
    if (answer && (open.length > 0 || GOOD.includes(pressedAnswer(need.id) ?? '')))
      later(need, answer, answer.kind ?? 'good');
  }
}
const GOOD: readonly string[] = ['good', 'clear'];

/** Presses an answer that can be taken back. */
function later(need: Need<string>, answer: Answer<string>, kind: AnswerKind, more: Record<string, unknown> = {}): void {
  const { name } = subjectOf(need, current());
  const said = t('done', { what: t(`a11y.${kind}`, { printer: name, item: name }) });
  const sent = { action: answer.action, properties: { ...answer.properties, ...more } };
  pressLater(need.id, kind, () => press(sent, said));
}

function NeedCard({ need }: { need: Need<string> }) {
  const state = useBoard();
  const { name, printer } = subjectOf(need, state);
  const heading = headingOf(need, name);
  const waiting = pressedAnswer(need.id);
  return (
    <div
      role="group"
      aria-label={heading}
      class={`card need ${need.kind}${waiting === undefined ? '' : ' waiting'}`}
      onFocusIn={() => (lastFocused = need.id)}
    >
      {need.kind === 'plate' && printer && <Picture printer={printer} isHidden />}
      <div class="need-text">
        <strong class="clip">{heading}</strong>
        <p>{need.text}</p>
        {need.since && <p class="quiet">{age(need.since)}</p>}
      </div>
      {may('press') && <Answers need={need} name={name} waiting={waiting} />}
    </div>
  );
}

function Answers({ need, name, waiting }: { need: Need<string>; name: string; waiting: string | undefined }) {
  const { items } = current();
  const [asked, ask] = useState<'printOn' | 'printAnyway' | null>(null);
  const { answers } = need;
  const parts = partsOf(need, items);
  const [good, setGood] = useState<string>(parts === null ? '' : String(parts));
  const shown = (
    ['good', 'bad', 'clear', 'printed', 'notPrinted', 'again', 'printOn', 'printAnyway', 'remove'] as const
  ).filter((kind) => answers.some((one) => one.kind === kind) && (kind !== 'remove' || may('all')));
  const holes = { printer: name, item: name };
  const choose = (kind: AnswerKind) => {
    const answer = answers.find((one) => one.kind === kind);
    if (!answer) return;
    if (kind === 'printOn' || kind === 'printAnyway') ask(kind);
    // Without a number, all parts are good.
    else later(need, answer, kind, kind === 'good' && parts !== null && good !== '' ? { goodParts: Number(good) } : {});
  };
  return (
    <div class="answers">
      {parts !== null && shown.includes('good') && (
        <Field label={t('goodParts')}>
          <input
            type="number"
            min={0}
            max={parts}
            value={good}
            aria-label={t('a11y.goodParts', holes)}
            onInput={(event) => setGood(typed(event))}
          />
        </Field>
      )}
      {shown.map((kind) => (
        <Button
          key={kind}
          label={t(`answer.${kind}`)}
          name={t(`a11y.${kind}`, holes)}
          kind={kind === 'good' || kind === 'clear' ? 'good' : kind === 'bad' ? 'bad' : 'main'}
          isPressed={kind === 'printOn' || kind === 'printAnyway' ? undefined : waiting === kind}
          onPress={() => choose(kind)}
        />
      ))}
      {canTakeBack(need.id) && (
        <Button
          label={t('undo')}
          name={t('a11y.undo', { name })}
          onPress={() => {
            takeBack(need.id);
            document.querySelector<HTMLElement>(`.need:focus-within button`)?.focus();
          }}
        />
      )}
      {asked === 'printOn' && (
        <PrintOn
          answers={need.answers.filter((answer) => answer.kind === 'printOn')}
          name={name}
          onClose={() => ask(null)}
        />
      )}
      {asked === 'printAnyway' && (
        <PrintAnyway
          answer={need.answers.find((answer) => answer.kind === 'printAnyway')}
          text={need.text}
          name={name}
          onClose={() => ask(null)}
        />
      )}
    </div>
  );
}

/** Parts of the print on the plate; null where it makes one. */
function partsOf(need: Need<string>, items: State['items']): number | null {
  const given = need.answers.find(({ properties }) => typeof properties.goodParts === 'number')?.properties.goodParts;
  if (typeof given === 'number' && given > 1) return given;
  const perPrint = items.find(({ itemId }) => itemId === need.itemId)?.parts?.perPrint ?? 1;
  return need.kind === 'plate' && perPrint > 1 ? perPrint : null;
}

interface ChoiceProps {
  name: string;
  onClose: () => void;
}

function PrintOn({ answers: present, name, onClose }: ChoiceProps & { answers: readonly Answer<string>[] }) {
  const { printers } = current();
  // The list stays as it was opened: a choice must not become another printer.
  const [answers] = useState(present);
  const [chosen, choose] = useState('0');
  const label = (answer: Answer<string>): string => {
    const clusterId = chosenPrinter(answer.properties);
    const printer = printers.find((one) => printerId(one) === clusterId || one.clusterId === clusterId);
    return printer ? printerName(printer) : answer.label;
  };
  const what = t('a11y.printOn', { item: name });
  const save = () => {
    const answer = answers[Number(chosen)];
    onClose();
    if (!answer) return;
    const isSame = ({ properties }: Answer<string>) => chosenPrinter(properties) === chosenPrinter(answer.properties);
    void press(present.find(isSame) ?? answer, t('done', { what }));
  };
  return (
    <Dialog name={what} onClose={onClose}>
      <Field label={t('a11y.printer')}>
        <select value={chosen} onChange={(event) => choose(typed(event))}>
          {answers.map((answer, at) => (
            <option key={at} value={String(at)}>
              {label(answer)}
            </option>
          ))}
        </select>
      </Field>
      <div class="bar">
        <Button label={t('a11y.save')} name={t('a11y.save')} kind="main" onPress={save} />
        {cancelButton(onClose)}
      </div>
    </Dialog>
  );
}

function PrintAnyway({
  answer,
  text,
  name,
  onClose,
}: ChoiceProps & { answer: Answer<string> | undefined; text: string }) {
  const what = t('a11y.printAnyway', { item: name });
  const save = () => {
    onClose();
    if (answer) void press(answer, t('done', { what }));
  };
  return (
    <Dialog name={what} onClose={onClose}>
      <p>{text}</p>
      <p>{t('anywayAsks')}</p>
      <div class="bar">
        <Button label={t('answer.printAnyway')} name={t('answer.printAnyway')} kind="bad" onPress={save} />
        {cancelButton(onClose)}
      </div>
    </Dialog>
  );
}
