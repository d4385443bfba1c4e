import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { ErrorLine } from "../../../components/EmptyState";
import { Panel } from "../../../components/Page";
import { StatusIcon } from "../../../components/StatusIcon";
import { DataTable } from "../../../components/tables/DataTable";
import { RelativeTime } from "../../../components/text/RelativeTime";
import { incidentKeys } from "../../../lib/incidents/incidents";
import { get, remove, useAction, usePermission } from "../../../lib/queries";
import { useTimeFormat } from "../../../lib/text/useFormat";
import { useNames } from "../../../lib/text/useNames";
import { useTranslation } from "../../../lib/text/useTranslation";

/** Active and expired mutes of a host: rule, reason, user and expiry. */
export function HostMutes({ hostId }: { hostId: string }) {
  const { t } = useTranslation();
  const names = useNames();
  const time = useTimeFormat();
  const can = usePermission();
  const query = useQuery({
    queryKey: [...incidentKeys.all, "mutes", hostId, "include_expired"],
    queryFn: () => get("/mutes", { host: hostId, include_expired: true }),
  });
  const unmute = useAction((id: string) => remove(`/mutes/${id}`), [incidentKeys.all]);
  const mutes = [...(query.data ?? [])].sort((a, b) => b.expires_at.localeCompare(a.expires_at));
  if (mutes.length === 0) return null;
  return (
    <Panel
      flush
      title={t("host.mutes")}
      headerExtra={<span className="num">{mutes.filter((mute) => mute.active).length}</span>}
    >
      <DataTable stack label={t("host.mutes")} maxHeight={320}>
        <thead>
          <tr>
            <th>{t("host.mutedRule")}</th>
            <th>{t("captures.reason")}</th>
            <th>{t("host.mutedBy")}</th>
            <th>{t("incidents.mute.until")}</th>
            <th>
              <span className="visually-hidden">{t("incidents.mute.undo")}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {mutes.map((mute) => (
            <tr key={mute.id}>
              <td>{names.rule(mute.rule)}</td>
              <td>{mute.reason}</td>
              <td>{mute.by?.name ?? "–"}</td>
              <td>
                <span className="num">{time.iso(mute.expires_at)}</span>{" "}
                {mute.active ? (
                  <span className="dim">
                    <RelativeTime at={mute.expires_at} />
                  </span>
                ) : (
                  <StatusIcon tone="off">{t("host.muteEnded")}</StatusIcon>
                )}
              </td>
              <td className="right">
                {mute.active && can("mute.manage") && (
                  <Button
                    size="compact-xs"
                    variant="default"
                    loading={unmute.isPending && unmute.variables === mute.id}
                    onClick={() => unmute.mutate(mute.id)}
                  >
                    {t("incidents.mute.undo")}
                  </Button>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </DataTable>
      <ErrorLine error={unmute.error} />
    </Panel>
  );
}
