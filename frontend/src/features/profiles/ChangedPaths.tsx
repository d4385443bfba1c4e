import { Panel } from "../../components/Page";
import { DataTable } from "../../components/tables/DataTable";
import { cx } from "../../core/cx";
import { percent } from "../../core/text/format";
import { useTranslation } from "../../lib/text/useTranslation";
import classes from "./Profile.module.css";

interface Props {
  title: string;
  empty: string;
  rows: readonly { path: readonly string[]; weight: number }[];
  total: number;
}

const MAX_ROWS = 50;

/** Call paths that only one side has, heaviest first. */
export function ChangedPaths({ title, empty, rows, total }: Props) {
  const { t } = useTranslation();
  return (
    <Panel title={title} headerExtra={<span className="num">{rows.length}</span>} flush>
      {rows.length === 0 ? (
        <p className={classes.more}>{empty}</p>
      ) : (
        <DataTable label={title} maxHeight={320}>
          <thead>
            <tr>
              <th className={cx("right", classes.narrow)}>{t("compare.shareOf")}</th>
              <th>{t("compare.path")}</th>
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, MAX_ROWS).map((row) => (
              <tr key={row.path.join("\u0000")}>
                <td className="right num">{percent(total > 0 ? row.weight / total : 0)}</td>
                <td className={classes.path}>{shortened(row.path)}</td>
              </tr>
            ))}
          </tbody>
        </DataTable>
      )}
    </Panel>
  );
}

/** The last frames of a path; its beginning is alike in most rows. */
const shortened = (path: readonly string[]): string =>
  path.length > 6 ? `… › ${path.slice(-6).join(" › ")}` : path.join(" › ");
