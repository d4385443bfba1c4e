// biome-ignore-all lint/a11y/useSemanticElements: a table lays out all of its rows; this grid positions each row
// biome-ignore-all lint/a11y/useFocusableInteractive: the grid is the only tab stop, with aria-activedescendant
import { useVirtualizer } from "@tanstack/react-virtual";
import {
  type CSSProperties,
  type KeyboardEvent,
  memo,
  type ReactNode,
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
} from "react";
import { cx } from "../../core/cx";
import { type CellPosition, moveCell, type Row } from "../../core/hosts/fleet";
import classes from "./VirtualTable.module.css";

export interface VirtualTableColumn {
  readonly id: string;
  readonly width: number;
  /** Accessible name of the column. */
  readonly name: string;
  readonly head: ReactNode;
  /** Render a line before the column. */
  readonly first?: boolean;
}

/** Cell: `look` selects its colors, `content` is visible, `words` is its text for tooltip and screen readers. */
export interface VirtualTableCell {
  readonly look: string;
  readonly stale?: boolean;
  readonly content?: ReactNode;
  readonly words: string;
}

interface Props<H extends { id: string }> {
  label: string;
  rows: readonly Row<H>[];
  columns: readonly VirtualTableColumn[];
  rowHeight: number;
  nameWidth: number;
  nameHead: ReactNode;
  group: (row: Extract<Row<H>, { kind: "group" }>) => ReactNode;
  name: (host: H) => ReactNode;
  /** Return a cell. Rows render again when this function changes, so memoize it. */
  cell: (host: H, column: string) => VirtualTableCell;
  chosen: ReadonlySet<string>;
  /** CSS class of cells, which sets their colors by `data-look`. */
  cellClass?: string | undefined;
  at: CellPosition;
  onAt: (at: CellPosition) => void;
  /** Handle Enter, or a click on a cell. `column` is undefined for the name of the row. */
  onOpen: (host: H, column: string | undefined) => void;
  /** Handle Space on a row. */
  onChoose: (host: H) => void;
}

/**
 * Render a grid of hundreds of rows, of which only the visible rows are in the DOM. The grid is a single tab stop:
 * arrow keys move in it, Enter opens, Space selects a row. Column headers and row names are sticky.
 */
export function VirtualTable<H extends { id: string }>(props: Props<H>) {
  const { rows, columns, rowHeight, at, onAt } = props;
  const id = useId();
  const scroller = useRef<HTMLDivElement>(null);
  const head = useRef<HTMLDivElement>(null);
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 6,
    scrollPaddingEnd: head.current?.offsetHeight ?? 0,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: measured sizes depend on the height of a row
  useLayoutEffect(() => virtualizer.measure(), [virtualizer, rowHeight]);
  const items = virtualizer.getVirtualItems();
  const row = Math.min(at.row, rows.length - 1);
  const isRowRendered = items.some((item) => item.index === row);
  const moved = useRef(false);
  useEffect(() => {
    if (!moved.current || !scroller.current) return;
    moved.current = false;
    virtualizer.scrollToIndex(row);
    scrollColumnIntoView(scroller.current, at.column, props);
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
    const page = Math.max(1, Math.floor((scroller.current?.clientHeight ?? 0) / rowHeight) - 3);
    const size = { rows: rows.length, columns: columns.length + 1, page };
    const next = moveCell({ row, column: at.column }, event.key, size, (item) => rows[item]?.kind === "host");
    if (!next) return;
    event.preventDefault();
    moved.current = true;
    onAt(next);
  };
  const template = `${props.nameWidth}px ${columns.map((virtualTableColumn) => `${virtualTableColumn.width}px`).join(" ")}`;
  const width =
    props.nameWidth + columns.reduce((sum, virtualTableColumn) => sum + virtualTableColumn.width, 0);
  return (
    <div
      ref={scroller}
      className={classes.scroller}
      role="grid"
      aria-label={props.label}
      aria-rowcount={rows.length + 1}
      aria-colcount={columns.length + 1}
      aria-multiselectable
      aria-activedescendant={isRowRendered ? `${id}-${row}-${at.column}` : undefined}
      tabIndex={0}
      onKeyDown={onKeyDown}
      style={{ "--columns": template, "--width": `${width}px`, "--row": `${rowHeight}px` } as CSSProperties}
    >
      <div ref={head} role="rowgroup" className={classes.header}>
        <div role="row" aria-rowindex={1} className={classes.row}>
          <div role="columnheader" className={classes.corner}>
            {props.nameHead}
          </div>
          {columns.map((virtualTableColumn) => (
            <div
              key={virtualTableColumn.id}
              role="columnheader"
              aria-label={virtualTableColumn.name}
              title={virtualTableColumn.name}
              className={cx(classes.head, virtualTableColumn.first && classes.groupStart)}
            >
              {virtualTableColumn.head}
            </div>
          ))}
        </div>
      </div>
      <div role="rowgroup" className={classes.body} style={{ height: virtualizer.getTotalSize() }}>
        {items.map(({ index, start }) => {
          const item = rows[index];
          if (!item) return null;
          return item.kind === "group" ? (
            <div
              key={item.id}
              role="row"
              aria-rowindex={index + 2}
              className={cx(classes.row, classes.positioned, classes.group)}
              style={{ top: start }}
            >
              <div role="rowheader" aria-colspan={columns.length + 1} className={classes.groupName}>
                {props.group(item)}
              </div>
            </div>
          ) : (
            <HostRow
              key={item.id}
              id={id}
              index={index}
              top={start}
              host={item.host}
              columns={columns}
              name={props.name}
              cell={props.cell}
              cellClass={props.cellClass}
              chosen={props.chosen.has(item.id)}
              at={index === row ? at.column : undefined}
              onAt={onAt}
              onOpen={props.onOpen}
            />
          );
        })}
      </div>
    </div>
  );
}

interface RowProps<H extends { id: string }>
  extends Pick<Props<H>, "columns" | "name" | "cell" | "cellClass" | "onAt" | "onOpen"> {
  id: string;
  index: number;
  /** Distance from the first row, in pixels. */
  top: number;
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
      className={cx(classes.row, classes.positioned, chosen && classes.chosen)}
      style={{ top: props.top }}
    >
      <div id={`${id}-${index}-0`} role="rowheader" className={cx(classes.name, at === 0 && classes.active)}>
        {props.name(host)}
      </div>
      {columns.map((column, i) => {
        const { look, stale, content, words } = props.cell(host, column.id);
        return (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the grid handles keys
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
              column.first && classes.groupStart,
              at === i + 1 && classes.active,
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

/** Scroll horizontally until a column is visible and not covered by the row names. */
function scrollColumnIntoView<H extends { id: string }>(
  box: HTMLElement,
  column: number,
  { nameWidth, columns }: Props<H>,
) {
  if (column === 0) {
    box.scrollLeft = 0;
    return;
  }
  const left = columns.slice(0, column - 1).reduce((sum, { width }) => sum + width, 0);
  const width = columns[column - 1]?.width ?? 0;
  const visible = box.clientWidth - nameWidth;
  if (left < box.scrollLeft) box.scrollLeft = left;
  else if (left + width > box.scrollLeft + visible) box.scrollLeft = left + width - visible;
}
