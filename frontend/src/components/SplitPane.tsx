import { type ReactNode, useEffect, useRef } from "react";
import { cx } from "../core/cx";
import { Panel } from "./Page";
import classes from "./Split.module.css";
import { Empty } from "./States";

interface Props {
  items: readonly { id: string; title: ReactNode; note: ReactNode }[];
  /** What the list is of, for those who do not see it. */
  label: string;
  /** Told where the list is empty. */
  nothing: string;
  chosen: string | undefined;
  /** Whether the reader asked for one: on a narrow screen the list gives way to it. */
  asked: boolean;
  onChoose: (id: string) => void;
  /** The way back to the list, on a narrow screen. */
  back: string;
  children: ReactNode;
}

/** A list, and beside it what is chosen; on a narrow screen one or the other. What is chosen is in sight. */
export function Split({ items, label, nothing, chosen, asked, onChoose, back, children }: Props) {
  const list = useRef<HTMLElement>(null);
  const here = useRef<HTMLButtonElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is chosen stands where the reader sees it
  useEffect(() => {
    const [box, item] = [list.current, here.current];
    if (!box || !item) return;
    const from = item.offsetTop;
    if (from < box.scrollTop || from + item.offsetHeight > box.scrollTop + box.clientHeight)
      box.scrollTop = from - box.clientHeight / 2;
  }, [chosen]);
  return (
    <div className={classes.split} data-asked={asked || undefined}>
      <Panel flush>
        {items.length === 0 ? (
          <Empty title={nothing} />
        ) : (
          <nav ref={list} className={classes.list} aria-label={label}>
            {items.map((one) => (
              <button
                key={one.id}
                ref={one.id === chosen ? here : null}
                type="button"
                className={cx(classes.item, one.id === chosen && classes.chosen)}
                aria-current={one.id === chosen || undefined}
                onClick={() => onChoose(one.id)}
              >
                <span className={classes.title}>{one.title}</span>
                <span className={classes.note}>{one.note}</span>
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
