import { ChevronDown, ChevronRight } from "lucide-react";
import { type KeyboardEvent, type MouseEvent, useMemo, useState } from "react";
import type { Profile } from "../../../client/models";
import { DataTable } from "../../../components/tables/DataTable";
import { cx } from "../../../core/cx";
import { findHeaviestPath, listCallRows } from "../../../core/profiles/callTree";
import { frameLabel, moduleName } from "../../../core/profiles/colors";
import type { FlameNode } from "../../../core/profiles/flame";
import { formatPercent } from "../../../core/text/format";
import { useTranslation } from "../../../lib/text/useTranslation";
import type { Point } from "../../../widgets/flame-graph/drawing";
import { weightText } from "../FrameDetails";
import classes from "./Panel.module.css";

const MAX_ROWS = 500;
const INDENT_PX = 12;
const MAX_INDENT = 40;

interface Props {
  tree: FlameNode;
  total: number;
  unit: Profile["unit"];
  matches: ReadonlySet<FlameNode["id"]> | undefined;
  onFocus(node: FlameNode | null): void;
  onMenu(node: FlameNode, at: Point): void;
  onFrameKey(node: FlameNode, key: string): boolean;
}

/** Call tree as a table; the heaviest path is expanded initially. */
export function CallTree({ tree, total, unit, matches, onFocus, onMenu, onFrameKey }: Props) {
  const { t } = useTranslation();
  const heaviest = useMemo(() => findHeaviestPath(tree), [tree]);
  const [chosen, setChosen] = useState<{ tree: FlameNode; open: ReadonlySet<FlameNode["id"]> }>();
  const open = chosen?.tree === tree ? chosen.open : heaviest;
  const rows = useMemo(() => listCallRows(tree, open, MAX_ROWS), [tree, open]);
  const toggle = (id: FlameNode["id"]) => {
    const next = new Set(open);
    if (!next.delete(id)) next.add(id);
    setChosen({ tree, open: next });
  };
  const share = (weight: number) => formatPercent(total > 0 ? weight / total : 0);
  return (
    <>
      <DataTable label={t("profile.view.tree")} maxHeight="70vh">
        <thead>
          <tr>
            <th className="right">{t("profile.total")}</th>
            <th className="right">{t("profile.self")}</th>
            <th>{t("profile.frame")}</th>
            <th className={classes.wide}>{t("profile.module")}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ node, depth, hasChildren, isOpen }) => {
            const keys = (event: KeyboardEvent) => {
              const expand = { ArrowRight: true, ArrowLeft: false }[event.key];
              if (expand !== undefined && hasChildren && expand !== isOpen) toggle(node.id);
              else if (event.ctrlKey || event.metaKey || event.altKey || !onFrameKey(node, event.key)) return;
              event.preventDefault();
            };
            const menu = (event: MouseEvent) => {
              event.preventDefault();
              onMenu(node, { x: event.clientX, y: event.clientY });
            };
            return (
              <tr key={node.id} onContextMenu={menu} onMouseEnter={() => onFocus(node)}>
                <td className="right num" title={weightText(node.value, unit)}>
                  {share(node.value)}
                </td>
                <td className="right num" title={weightText(node.self, unit)}>
                  {share(node.self)}
                </td>
                <td className={classes.callCell}>
                  <button
                    type="button"
                    className={cx(
                      classes.call,
                      node.kind === "unknown" && classes.muted,
                      matches?.has(node.id) && classes.match,
                    )}
                    style={{ paddingLeft: Math.min(depth, MAX_INDENT) * INDENT_PX }}
                    aria-expanded={hasChildren ? isOpen : undefined}
                    onClick={() => hasChildren && toggle(node.id)}
                    onFocus={() => onFocus(node)}
                    onKeyDown={keys}
                    data-keys="own"
                  >
                    {hasChildren ? (
                      isOpen ? (
                        <ChevronDown size={12} aria-hidden />
                      ) : (
                        <ChevronRight size={12} aria-hidden />
                      )
                    ) : (
                      <span className={classes.leaf} />
                    )}
                    {frameLabel(node)}
                  </button>
                </td>
                <td className={cx("mono dim", classes.wide)} title={node.module}>
                  {node.module ? moduleName(node.module) : ""}
                </td>
              </tr>
            );
          })}
        </tbody>
      </DataTable>
      {rows.length >= MAX_ROWS && (
        <p className={classes.note}>{t("profile.treeRest", { count: MAX_ROWS })}</p>
      )}
    </>
  );
}
