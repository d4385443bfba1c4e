import { type ReactNode, useEffect, useRef } from "react";
import { cx } from "../core/cx";
import { EmptyState } from "./EmptyState";
import { Panel } from "./Page";
import classes from "./SplitPane.module.css";

interface Props {
  items: readonly { id: string; title: ReactNode; note: ReactNode }[];
  /** What the list is of, for those who do not see it. */
  label: string;
  /** Text for an empty list. */
  nothing: string;
  chosen: string | undefined;
  /** Whether the reader has opened an item: on a narrow screen the list gives way to it. */
  isItemOpen: boolean;
  onChoose: (id: string) => void;
  /** The way back to the list, on a narrow screen. */
  back: string;
  children: ReactNode;
}

/** A list with the chosen item next to it; a narrow screen shows one of them. Scrolls the chosen item into view. */
export function SplitPane({ items, label, nothing, chosen, isItemOpen, onChoose, back, children }: Props) {
  const list = useRef<HTMLElement>(null);
  const here = useRef<HTMLButtonElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the chosen item must be in view
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
          <EmptyState title={nothing} />
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
