import { Panel } from "../../components/Page";
import { DataTable } from "../../components/tables/DataTable";
import { cx } from "../../core/cx";
import { type DiffHead, type DiffPath, formatSideWeight } from "../../core/profiles/difference";
import { useTranslation } from "../../lib/text/useTranslation";
import classes from "./Profile.module.css";

interface Props {
  title: string;
  empty: string;
  rows: readonly DiffPath[];
  side: "a" | "b";
  head: DiffHead;
  /** Zooms the flame graph to the path, on the side that contains it. */
  onDraw(node: number): void;
}

const MAX_ROWS = 50;

/** Call paths that exist on only one side, heaviest first; paths that can be chance are dimmed. */
export function ChangedPaths({ title, empty, rows, side, head, onDraw }: Props) {
  const { t } = useTranslation();
  return (
    <Panel title={title} headerExtra={<span className="num">{rows.length}</span>} flush>
      {rows.length === 0 ? (
        <p className={classes.more}>{empty}</p>
      ) : (
        <DataTable label={title} maxHeight={320}>
          <thead>
            <tr>
              <th className={cx("right", classes.narrow)}>{side.toUpperCase()}</th>
              <th>{t("compare.path")}</th>
              <th>{t("compare.reasonOf")}</th>
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, MAX_ROWS).map((row) => (
              <tr key={row.node}>
                <td className={cx("right num", row.changed ? undefined : "dim")}>
                  {formatSideWeight(row[side] ?? 0, side, head)}
                </td>
                <td>
                  <button
                    type="button"
                    className={cx(classes.nameButton, row.changed ? undefined : "dim")}
                    title={`${t("compare.draw")}: ${row.path.join(" › ")}`}
                    onClick={() => onDraw(row.node)}
                  >
                    {shortenPath(row.path)}
                  </button>
                </td>
                <td className={row.changed ? undefined : "dim"}>
                  {t(row.changed ? "compare.changedPath" : "compare.chanceOnly")}
                </td>
              </tr>
            ))}
          </tbody>
        </DataTable>
      )}
    </Panel>
  );
}

/** Return the last six frames of a path; the first frames are equal in most rows. */
const shortenPath = (path: readonly string[]): string =>
  path.length > 6 ? `… › ${path.slice(-6).join(" › ")}` : path.join(" › ");
