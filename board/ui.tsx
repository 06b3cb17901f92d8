// Parts that the sections share.
import { Component, type ComponentChildren, type ComponentClass, type FunctionComponent, type RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Allow } from '../lib/board/shapes';
import { current, type State, subscribe } from './state';
import { t } from './words';

/** The page's state; the component is drawn again after each change. */
export function useBoard(): State {
  const [drawn, draw] = useState(current);
  useLayoutEffect(() => {
    const follow = () => draw(current);
    // The state may have changed since the first drawing.
    follow();
    return subscribe(follow);
  }, []);
  return drawn;
}

/** A component that is drawn again only after a change of its properties or its own state. */
export function memo<P extends object>(Inner: FunctionComponent<P>): ComponentClass<P> {
  return class extends Component<P> {
    override shouldComponentUpdate(next: Readonly<P>): boolean {
      const before = this.props as Record<string, unknown>;
      return Object.entries(next).some(([name, value]) => before[name] !== value);
    }
    override render() {
      return <Inner {...this.props} />;
    }
  };
}

/** Draws again every `ms`: ages and times left go on without a message. */
export function useTicks(ms = 20_000): void {
  const [, draw] = useState({});
  useEffect(() => {
    let timer = 0;
    const tick = () => {
      draw({});
      timer = window.setTimeout(tick, ms);
    };
    // Hundreds of ages must not change in one frame.
    timer = window.setTimeout(tick, ms * (0.5 + Math.random() / 2));
    return () => clearTimeout(timer);
  }, [ms]);
}

const ORDER: readonly Allow[] = ['look', 'press', 'all'];

/** Whether the board permits presses of this kind; Node-RED decides it again. */
export const may = (least: Allow): boolean =>
  ORDER.indexOf(current().values?.facts.allow ?? 'look') >= ORDER.indexOf(least);

interface ButtonProps {
  /** Its caption. */
  label: ComponentChildren;
  /** Its whole name. */
  name: string;
  onPress: () => void;
  kind?: 'good' | 'bad' | 'main' | 'quiet';
  isPressed?: boolean | undefined;
  isExpanded?: boolean;
  buttonRef?: RefObject<HTMLButtonElement | null>;
  onKeyDown?: (event: KeyboardEvent) => void;
}

export const Button = ({
  label,
  name,
  onPress,
  kind = 'quiet',
  isPressed,
  isExpanded,
  buttonRef,
  onKeyDown,
}: ButtonProps) => (
  <button
    type="button"
    class={`button ${kind}`}
    aria-label={name}
    aria-pressed={isPressed}
    aria-expanded={isExpanded}
    onClick={onPress}
    {...(onKeyDown && { onKeyDown })}
    {...(buttonRef && { ref: buttonRef })}
  >
    {label}
  </button>
);

/** A region with a heading of the same name. */
export function Region({ id, name, children }: { id: string; name: string; children: ComponentChildren }) {
  return (
    <section class={`region ${id}`} aria-labelledby={`${id}-heading`}>
      <h2 id={`${id}-heading`} tabIndex={-1}>
        {name}
      </h2>
      {children}
    </section>
  );
}

interface DialogProps {
  name: string;
  onClose: () => void;
  children: ComponentChildren;
}

/** A modal dialog. The browser keeps the focus in it; Escape closes it, and the focus goes back to where it came from. */
export function Dialog({ name, onClose, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const from = document.activeElement;
    const opened = dialog.current;
    opened?.showModal();
    return () => {
      // While it is open, nothing outside can have the focus.
      opened?.close();
      if (from instanceof HTMLElement && from.isConnected) from.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      aria-labelledby="dialog-heading"
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <h2 id="dialog-heading">{name}</h2>
      {children}
    </dialog>
  );
}

interface FieldProps {
  label: string;
  children: ComponentChildren;
}

export const Field = ({ label, children }: FieldProps) => (
  <label class="field">
    <span>{label}</span>
    {children}
  </label>
);

export const cancelButton = (onClose: () => void) => (
  <Button label={t('a11y.cancel')} name={t('a11y.cancel')} onPress={onClose} />
);

/** Text of a field after a change. */
export const typed = (event: { currentTarget: HTMLInputElement | HTMLSelectElement }): string =>
  event.currentTarget.value;

/** Id of an element for another one's: any text may be part of it. */
export const idFor = (kind: string, of: string): string =>
  `${kind}-${[...of].map((letter) => (/[\w-]/.test(letter) ? letter : `_${letter.codePointAt(0)}`)).join('')}`;
