import { type ReactNode, useEffect, useRef } from "react";
import { cx } from "../core/cx";
import { EmptyState } from "./EmptyState";
import { Panel } from "./Page";
import classes from "./SplitPane.module.css";

interface Props {
  items: readonly { id: string; title: ReactNode; note: ReactNode }[];
  /** Accessible name of the list. */
  label: string;
  /** Text for an empty list. */
  emptyText: string;
  chosen: string | undefined;
  /** Whether the user opened an item. On a narrow screen the item replaces the list. */
  isItemOpen: boolean;
  onChoose: (id: string) => void;
  /** Link back to the list, on a narrow screen. */
  back: string;
  children: ReactNode;
}

/** Render a list next to its selected item; on a narrow screen either of them. Scrolls to the selected item. */
export function SplitPane({ items, label, emptyText, chosen, isItemOpen, onChoose, back, children }: Props) {
  const list = useRef<HTMLElement>(null);
  const here = useRef<HTMLButtonElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: scrolls again when another item is selected
  useEffect(() => {
    const [box, item] = [list.current, here.current];
    if (!box || !item) return;
    const from = item.offsetTop;
    if (from < box.scrollTop || from + item.offsetHeight > box.scrollTop + box.clientHeight)
      box.scrollTop = from - box.clientHeight / 2;
  }, [chosen]);
  return (
    <div className={classes.split} data-item-open={isItemOpen || undefined}>
      <Panel flush>
        {items.length === 0 ? (
          <EmptyState title={emptyText} />
        ) : (
          <nav ref={list} className={classes.list} aria-label={label}>
            {items.map((item) => (
              <button
                key={item.id}
                ref={item.id === chosen ? here : null}
                type="button"
                className={cx(classes.item, item.id === chosen && classes.chosen)}
                aria-current={item.id === chosen || undefined}
                onClick={() => onChoose(item.id)}
              >
                <span className={classes.title}>{item.title}</span>
                <span className={classes.note}>{item.note}</span>
              </button>
            ))}
          </nav>
        )}
      </Panel>
      <div className={classes.detail}>
        <button type="button" className={classes.back} onClick={() => onChoose("")}>
          ← {back}
        </button>
        {children}
      </div>
    </div>
  );
}
