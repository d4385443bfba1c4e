import { Button } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { ErrorState, RowSkeleton } from "../../../components/EmptyState";
import { Panel } from "../../../components/Page";
import { DataTable } from "../../../components/tables/DataTable";
import { get } from "../../../lib/queries";
import { useTimeFormat } from "../../../lib/text/useFormat";
import { useTranslation } from "../../../lib/text/useTranslation";
import type { AuditEntry } from "../api";
import classes from "../Settings.module.css";

export function AuditLogPanel() {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const log = useInfiniteQuery({
    queryKey: ["audit"],
    queryFn: ({ pageParam }) => get("/audit", { limit: 100, cursor: pageParam ?? undefined }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
  });
  const entries = log.data?.pages.flatMap((page) => page.items);
  return (
    <Panel
      flush
      title={t("settings.audit.title")}
      headerExtra={
        log.data?.pages[0]?.head && <span className="mono">{log.data.pages[0].head.slice(0, 16)}</span>
      }
    >
      <p className={classes.note}>{t("settings.audit.text")}</p>
      {log.error && !entries ? (
        <ErrorState error={log.error} retry={() => void log.refetch()} />
      ) : entries ? (
        <DataTable stack label={t("settings.audit.title")}>
          <thead>
            <tr>
              <th className="right">#</th>
              <th>{t("settings.audit.at")}</th>
              <th>{t("settings.audit.who")}</th>
              <th>{t("settings.audit.action")}</th>
              <th>{t("settings.audit.what")}</th>
              <th>{t("settings.audit.from")}</th>
            </tr>
          </thead>
          <tbody>
            {entries.map((entry) => (
              <tr key={entry.id}>
                <td className="num right">{entry.seq}</td>
                <td className="num">{time.iso(entry.at)}</td>
                <td>{entry.actor_name}</td>
                <td className="mono">{entry.action}</td>
                <td className={classes.detail}>
                  {entry.resource_kind} {entry.resource_id}
                  <AuditSubject detail={entry.detail} />
                </td>
                <td className="num">{entry.address ?? "–"}</td>
              </tr>
            ))}
          </tbody>
        </DataTable>
      ) : (
        <RowSkeleton rows={12} />
      )}
      {log.hasNextPage && (
        <Button
          variant="subtle"
          fullWidth
          loading={log.isFetchingNextPage}
          onClick={() => void log.fetchNextPage()}
        >
          {t("action.more")}
        </Button>
      )}
    </Panel>
  );
}

/** Details of an audit entry, with hashes and long lists truncated; the tooltip contains the full JSON. */
function AuditSubject({ detail }: { detail: AuditEntry["detail"] }) {
  const details = Object.entries(detail).filter(([, value]) => value !== null && value !== "");
  if (details.length === 0) return null;
  return (
    <div className={classes.about} title={JSON.stringify(detail, null, 2)}>
      {details.map(([name, value]) => (
        <div key={name}>
          <span>{name}=</span>
          {short(value)}
        </div>
      ))}
    </div>
  );
}

function short(value: unknown): string {
  if (Array.isArray(value))
    return value.slice(0, 4).map(short).join(", ") + (value.length > 4 ? ` … (${value.length})` : "");
  if (typeof value === "object") return JSON.stringify(value);
  const text = String(value);
  return /^[0-9a-f]{40,}$/.test(text) ? `${text.slice(0, 12)}…` : text;
}
