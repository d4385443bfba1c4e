import type { Capture } from "../../client/models";
import { Link } from "../../components/Link";
import { RunStateIcon } from "../../components/StatusIcon";
import { DataTable, rowLinkClass } from "../../components/tables/DataTable";
import classes from "../../components/tables/DataTable.module.css";
import { formatBytes, formatMilliseconds } from "../../core/text/format";
import { useTimeFormat } from "../../lib/text/useFormat";
import { useNames } from "../../lib/text/useNames";
import { useTranslation } from "../../lib/text/useTranslation";

interface Props {
  captures: readonly Capture[];
  /** Host id: states are those of the runs on this host, and the column of hosts is omitted. */
  host?: string;
  /** Maximum height as a CSS length; a longer list scrolls below the names of its columns. */
  maxHeight?: string;
}

/** Render captures, newest first, with their cost on the hosts. */
export function CapturesTable({ captures, host, maxHeight }: Props) {
  const { t } = useTranslation();
  const planned = useNames();
  const time = useTimeFormat();
  const title = ({ source, plan }: Capture) =>
    source === "import" ? t("captures.imported") : planned.plan(plan);
  return (
    <DataTable stack label={t("nav.captures")} {...(maxHeight ? { maxHeight } : {})}>
      <thead>
        <tr>
          <th>#</th>
          <th>{t("captures.plan")}</th>
          <th>{t("captures.state")}</th>
          {!host && <th>{t("captures.hosts")}</th>}
          <th>{t("captures.began")}</th>
          <th className="right">{t("captures.bytes")}</th>
          <th className="right">{t("captures.cpu")}</th>
          <th>{t("captures.reason")}</th>
          <th>{t("captures.by")}</th>
        </tr>
      </thead>
      <tbody>
        {captures.map((capture) => {
          const runs = host ? capture.runs.filter((run) => run.host?.id === host) : capture.runs;
          const own = host ? runs[0] : undefined;
          const sum = (get: (run: Capture["runs"][number]) => number | null) =>
            runs.reduce((total, run) => total + (get(run) ?? 0), 0);
          const names = runs.map((run) => run.host?.name ?? t("captures.noHost"));
          const target = own ? { to: "/runs/$runId", params: { runId: own.id } } : undefined;
          return (
            <tr key={capture.id} className={rowLinkClass()}>
              <td className="num">
                <Link to="/captures/$captureId" params={{ captureId: capture.id }}>
                  #{capture.number}
                </Link>
              </td>
              <td className={classes.ellipsis}>
                {target ? (
                  <Link to="/runs/$runId" params={{ runId: target.params.runId }}>
                    {title(capture)}
                  </Link>
                ) : (
                  title(capture)
                )}
              </td>
              <td>
                <RunStateIcon state={own?.state ?? capture.state} />
              </td>
              {!host && (
                <td className={classes.ellipsis} title={names.slice(0, 40).join("\n")}>
                  {names.slice(0, 2).join(", ")}
                  {names.length > 2 && (
                    <span className="dim"> {t("captures.more", { count: names.length - 2 })}</span>
                  )}
                </td>
              )}
              <td className="num">{time.iso(capture.created_at)}</td>
              <td className="num right">{formatBytes(sum((run) => run.bytes))}</td>
              <td className="num right">{formatMilliseconds(sum((run) => run.host_cpu_ms))}</td>
              <td>{capture.reason || <span className="dim">–</span>}</td>
              <td>{capture.requested_by?.name ?? "–"}</td>
            </tr>
          );
        })}
      </tbody>
    </DataTable>
  );
}
