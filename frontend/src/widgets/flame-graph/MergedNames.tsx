import { Collapsible } from "../../components/Collapsible";
import { DataTable } from "../../components/tables/DataTable";
import { useTranslation } from "../../lib/text/useTranslation";
import classes from "./Difference.module.css";

/** Render which function names were merged: build-specific suffixes are removed so that builds are comparable. */
export function MergedNames({
  id,
  merged,
}: {
  id: string;
  merged: Readonly<Record<string, readonly string[]>>;
}) {
  const { t } = useTranslation();
  const rows = Object.entries(merged);
  if (rows.length === 0) return null;
  return (
    <Collapsible id={id} title={t("compare.merged")} count={rows.length} hint={t("compare.mergedHint")}>
      <DataTable label={t("compare.merged")} maxHeight={320}>
        <thead>
          <tr>
            <th>{t("compare.drawnAs")}</th>
            <th>{t("compare.mergedNames")}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(([base, names]) => (
            <tr key={base}>
              <td className={classes.name}>{base}</td>
              <td className={classes.name}>{names.join(", ")}</td>
            </tr>
          ))}
        </tbody>
      </DataTable>
    </Collapsible>
  );
}
