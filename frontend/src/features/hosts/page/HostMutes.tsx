import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import type { Mute } from "../../client/incidents";
import { Ago } from "../../components/Ago";
import { Grid } from "../../components/Grid";
import { Mark } from "../../components/Mark";
import { Panel } from "../../components/Page";
import { ErrorLine } from "../../components/States";
import { incidentKeys } from "../../lib/incidents";
import { get, remove, useAction, useMay } from "../../lib/queries";
import { useTimeFormat } from "../../lib/useFormat";
import { useNames } from "../../lib/useNames";

/** Findings that count for no incident of this host, and those whose time has ended: what, why, by whom, until when. */
export function HostMutes({ hostId }: { hostId: string }) {
  const { t } = useTranslation();
  const names = useNames();
  const time = useTimeFormat();
  const may = useMay();
  const query = useQuery({
    queryKey: [...incidentKeys.all, "mutes", hostId, "over"],
    queryFn: () => get<Mute[]>("/mutes", { host: hostId, over: true }),
  });
  const unmute = useAction((id: string) => remove(`/mutes/${id}`), [incidentKeys.all]);
  const mutes = [...(query.data ?? [])].sort((a, b) => b.expires_at.localeCompare(a.expires_at));
  if (mutes.length === 0) return null;
  return (
    <Panel
      flush
      title={t("host.mutes")}
      aside={<span className="num">{mutes.filter((one) => one.active).length}</span>}
    >
      <Grid stack label={t("host.mutes")} maxHeight={320}>
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
          {mutes.map((one) => (
            <tr key={one.id}>
              <td>{names.rule(one.rule)}</td>
              <td>{one.reason}</td>
              <td>{one.by?.name ?? "–"}</td>
              <td>
                <span className="num">{time.iso(one.expires_at)}</span>{" "}
                {one.active ? (
                  <span className="dim">
                    <Ago at={one.expires_at} />
                  </span>
                ) : (
                  <Mark tone="off">{t("host.muteEnded")}</Mark>
                )}
              </td>
              <td className="right">
                {one.active && may("mute.manage") && (
                  <Button
                    size="compact-xs"
                    variant="default"
                    loading={unmute.isPending && unmute.variables === one.id}
                    onClick={() => unmute.mutate(one.id)}
                  >
                    {t("incidents.mute.undo")}
                  </Button>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </Grid>
      <ErrorLine error={unmute.error} />
    </Panel>
  );
}
