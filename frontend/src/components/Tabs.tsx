import classes from "./Tabs.module.css";

export interface Tab<Id extends string> {
  id: Id;
  text: string;
  /** Number of items in the tab. */
  count?: number | undefined;
}

interface Props<Id extends string> {
  label: string;
  tabs: readonly Tab<Id>[];
  value: Id;
  /** Select a tab. `isKey`: with an arrow key, which must not add a history entry. */
  onChange(id: Id, isKey: boolean): void;
}

/** Render the tabs of a section of a page. Left and right arrow keys select the next tab. */
export function Tabs<Id extends string>({ label, tabs, value, onChange }: Props<Id>) {
  return (
    <div className={classes.tabs} role="tablist" aria-label={label}>
      {tabs.map(({ id, text, count }, at) => (
        <button
          key={id}
          type="button"
          role="tab"
          aria-selected={value === id}
          tabIndex={value === id ? 0 : -1}
          className={classes.tab}
          onClick={() => onChange(id, false)}
          onKeyDown={(event) => {
            const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
            const to = (at + by + tabs.length) % tabs.length;
            const next = tabs[to];
            if (by === 0 || !next) return;
            event.preventDefault();
            onChange(next.id, true);
            event.currentTarget.parentElement?.querySelectorAll<HTMLElement>("[role=tab]")[to]?.focus();
          }}
        >
          {text}
          {count !== undefined && <span className={classes.count}>{count}</span>}
        </button>
      ))}
    </div>
  );
}
