import classes from "./Tabs.module.css";

export interface Tab<Id extends string> {
  id: Id;
  text: string;
  /** How many items the tab holds. */
  count?: number | undefined;
}

interface Props<Id extends string> {
  label: string;
  tabs: readonly Tab<Id>[];
  value: Id;
  /** `isKey`: by an arrow key, which is no step that the back button undoes. */
  onChange(id: Id, isKey: boolean): void;
}

/** Tabs of one part of a page; arrow keys move between them. */
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
