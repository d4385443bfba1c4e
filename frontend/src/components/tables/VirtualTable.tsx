// biome-ignore-all lint/a11y/useSemanticElements: a table lays out all of its rows; here each is placed by itself
// biome-ignore-all lint/a11y/useFocusableInteractive: the grid is the one tab stop, and names its active cell
import {
  type CSSProperties,
  type KeyboardEvent,
  memo,
  type ReactNode,
  useCallback,
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import { cx } from "../core/cx";
import { type Place, type Row, stepped, windowOf } from "../core/fleet";
import classes from "./VirtualGrid.module.css";

export interface GridColumn {
  readonly id: string;
  readonly width: number;
  /** What the column is called, for those who do not see its head. */
  readonly name: string;
  readonly head: ReactNode;
  /** A rule stands before it. */
  readonly first?: boolean;
}

/** What a cell shows: a look for its colours, a content, and all of it in words. */
export interface GridCell {
  readonly look: string;
  readonly stale?: boolean;
  readonly content?: ReactNode;
  readonly words: string;
}

interface Props<H extends { id: string }> {
  label: string;
  rows: readonly Row<H>[];
  columns: readonly GridColumn[];
  rowHeight: number;
  nameWidth: number;
  nameHead: ReactNode;
  group: (row: Extract<Row<H>, { kind: "group" }>) => ReactNode;
  name: (host: H) => ReactNode;
  /** A row is drawn anew where this changes: it must be the same function as long as it says the same. */
  cell: (host: H, column: string) => GridCell;
  chosen: ReadonlySet<string>;
  /** Colours of cells by `data-look`. */
  cellClass?: string | undefined;
  at: Place;
  onAt: (at: Place) => void;
  /** Enter, or a press on a cell. Column undefined: the name. */
  onOpen: (host: H, column: string | undefined) => void;
  /** Space. */
  onChoose: (host: H) => void;
}

/**
 * A grid of hundreds of rows of which only those in view are drawn. One tab stop; arrow keys move in it, Enter opens,
 * Space chooses a row. Heads and names stay while the rest scrolls inside.
 */
export function VirtualGrid<H extends { id: string }>(props: Props<H>) {
  const { rows, columns, rowHeight, at, onAt } = props;
  const id = useId();
  const scroller = useRef<HTMLDivElement>(null);
  const head = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 600 });
  const look = useCallback(() => {
    const box = scroller.current;
    if (!box) return;
    // A row's worth of scrolling draws nothing anew; the rows around the view are there already.
    const top = Math.floor(box.scrollTop / rowHeight) * rowHeight;
    const height = box.clientHeight || 600;
    setView((before) => (before.top === top && before.height === height ? before : { top, height }));
  }, [rowHeight]);
  useLayoutEffect(() => {
    const box = scroller.current;
    if (!box) return;
    const observer = new ResizeObserver(look);
    observer.observe(box);
    return () => observer.disconnect();
  }, [look]);
  const [from, to] = windowOf(view.top, view.height, rowHeight, rows.length);
  const row = Math.min(at.row, rows.length - 1);
  const moved = useRef(false);
  useEffect(() => {
    if (!moved.current || !scroller.current) return;
    moved.current = false;
    bringIntoView(scroller.current, head.current?.offsetHeight ?? 0, { row, column: at.column }, props);
  });
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== event.currentTarget) return;
    const current = rows[row];
    if ((event.key === "Enter" || event.key === " ") && current?.kind === "host") {
      event.preventDefault();
      if (event.key === " ") props.onChoose(current.host);
      else props.onOpen(current.host, columns[at.column - 1]?.id);
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(view.height / rowHeight) - 3);
    const size = { rows: rows.length, columns: columns.length + 1, page };
    const next = stepped({ row, column: at.column }, event.key, size, (one) => rows[one]?.kind === "host");
    if (!next) return;
    event.preventDefault();
    moved.current = true;
    onAt(next);
  };
  const template = `${props.nameWidth}px ${columns.map((one) => `${one.width}px`).join(" ")}`;
  const width = props.nameWidth + columns.reduce((sum, one) => sum + one.width, 0);
  return (
    <div
      ref={scroller}
      className={classes.scroller}
      role="grid"
      aria-label={props.label}
      aria-rowcount={rows.length + 1}
      aria-colcount={columns.length + 1}
      aria-multiselectable
      aria-activedescendant={row >= from && row < to ? `${id}-${row}-${at.column}` : undefined}
      tabIndex={0}
      onScroll={look}
      onKeyDown={onKeyDown}
      style={{ "--columns": template, "--width": `${width}px`, "--row": `${rowHeight}px` } as CSSProperties}
    >
      <div ref={head} role="rowgroup" className={classes.heads}>
        <div role="row" aria-rowindex={1} className={classes.row}>
          <div role="columnheader" className={classes.corner}>
            {props.nameHead}
          </div>
          {columns.map((one) => (
            <div
              key={one.id}
              role="columnheader"
              aria-label={one.name}
              title={one.name}
              className={cx(classes.head, one.first && classes.first)}
            >
              {one.head}
            </div>
          ))}
        </div>
      </div>
      <div role="rowgroup" className={classes.body} style={{ height: rows.length * rowHeight }}>
        {rows.slice(from, to).map((one, i) =>
          one.kind === "group" ? (
            <div
              key={one.id}
              role="row"
              aria-rowindex={from + i + 2}
              className={cx(classes.row, classes.placed, classes.group)}
              style={{ top: (from + i) * rowHeight }}
            >
              <div role="rowheader" aria-colspan={columns.length + 1} className={classes.groupName}>
                {props.group(one)}
              </div>
            </div>
          ) : (
            <HostRow
              key={one.id}
              id={id}
              index={from + i}
              rowHeight={rowHeight}
              host={one.host}
              columns={columns}
              name={props.name}
              cell={props.cell}
              cellClass={props.cellClass}
              chosen={props.chosen.has(one.id)}
              at={from + i === row ? at.column : undefined}
              onAt={onAt}
              onOpen={props.onOpen}
            />
          ),
        )}
      </div>
    </div>
  );
}

interface RowProps<H extends { id: string }>
  extends Pick<Props<H>, "columns" | "name" | "cell" | "cellClass" | "onAt" | "onOpen" | "rowHeight"> {
  id: string;
  index: number;
  host: H;
  chosen: boolean;
  at: number | undefined;
}

function HostRowPlain<H extends { id: string }>(props: RowProps<H>) {
  const { id, index, host, columns, chosen, at } = props;
  return (
    <div
      role="row"
      aria-rowindex={index + 2}
      aria-selected={chosen}
      className={cx(classes.row, classes.placed, chosen && classes.chosen)}
      style={{ top: index * props.rowHeight }}
    >
      <div id={`${id}-${index}-0`} role="rowheader" className={cx(classes.name, at === 0 && classes.at)}>
        {props.name(host)}
      </div>
      {columns.map((column, i) => {
        const { look, stale, content, words } = props.cell(host, column.id);
        return (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the grid itself has the keys
          <div
            key={column.id}
            id={`${id}-${index}-${i + 1}`}
            role="gridcell"
            title={words}
            data-look={look}
            data-stale={stale || undefined}
            className={cx(
              classes.cell,
              props.cellClass,
              column.first && classes.first,
              at === i + 1 && classes.at,
            )}
            onMouseDown={() => props.onAt({ row: index, column: i + 1 })}
            onClick={() => props.onOpen(host, column.id)}
          >
            {content && (
              <span aria-hidden className={classes.content}>
                {content}
              </span>
            )}
            <span className="visually-hidden">{words}</span>
          </div>
        );
      })}
    </div>
  );
}

const HostRow = memo(HostRowPlain) as typeof HostRowPlain;

/** Scrolls no more than it takes; heads and names cover what lies under them. */
function bringIntoView<H extends { id: string }>(
  box: HTMLElement,
  headHeight: number,
  at: Place,
  { rowHeight, nameWidth, columns }: Props<H>,
) {
  const top = at.row * rowHeight;
  const room = box.clientHeight - headHeight;
  if (top < box.scrollTop) box.scrollTop = top;
  else if (top + rowHeight > box.scrollTop + room) box.scrollTop = top + rowHeight - room;
  if (at.column === 0) {
    box.scrollLeft = 0;
    return;
  }
  const left = columns.slice(0, at.column - 1).reduce((sum, one) => sum + one.width, 0);
  const width = columns[at.column - 1]?.width ?? 0;
  const across = box.clientWidth - nameWidth;
  if (left < box.scrollLeft) box.scrollLeft = left;
  else if (left + width > box.scrollLeft + across) box.scrollLeft = left + width - across;
}
