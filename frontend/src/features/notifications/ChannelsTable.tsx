import { Button, Switch } from "@mantine/core";
import { useTranslation } from "react-i18next";
import type { Channel, Notice } from "../../client/triggers";
import { Ago } from "../../components/Ago";
import { Drop } from "../../components/Drop";
import { Grid } from "../../components/Grid";
import { Mark } from "../../components/Mark";
import { ErrorLine } from "../../components/States";
import { patch, post, remove, useAction, useMay } from "../../lib/queries";
import { ANNOTATIONS, CHANNELS, NOTICES } from "./data";

/** One row for each place that is told: where it leads, and whether messages arrive there. */
export function ChannelsTable({ channels }: { channels: readonly Channel[] }) {
  const { t } = useTranslation();
  const may = useMay();
  const manages = may("channel.manage");
  const test = useAction(
    (id: string) => post<Notice>(`/channels/${id}/test`, {}, crypto.randomUUID()),
    [CHANNELS, NOTICES],
  );
  const turn = useAction(
    ({ id, enabled }: { id: string; enabled: boolean }) => patch<Channel>(`/channels/${id}`, { enabled }),
    [CHANNELS],
  );
  const again = useAction(
    (id: string) => post<Channel>(`/channels/${id}/again`, {}),
    [CHANNELS, NOTICES, ANNOTATIONS],
  );
  const drop = useAction((id: string) => remove(`/channels/${id}`), [CHANNELS, NOTICES]);
  return (
    <>
      <Grid stack label={t("triggers.part.channels")}>
        <thead>
          <tr>
            <th>{t("triggers.name")}</th>
            <th>{t("triggers.kind")}</th>
            <th>{t("channels.leads")}</th>
            <th>{t("nav.language")}</th>
            <th>{t("captures.state")}</th>
            <th>{t("channels.last")}</th>
            <th className="right">{t("channels.dead")}</th>
            <th>
              <span className="visually-hidden">{t("host.more")}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {channels.map((one) => (
            <tr key={one.id}>
              <td>{one.name}</td>
              <td>{t(`channels.kinds.${one.kind}`)}</td>
              <td className="mono">
                {[one.shown.server, ...(one.shown.to ?? [])].filter(Boolean).join(" ")}
              </td>
              <td>{one.locale === "zh" ? "中文" : "English"}</td>
              <td>
                {manages ? (
                  <Switch
                    size="xs"
                    checked={one.enabled}
                    aria-label={t("channels.enabled", { name: one.name })}
                    onChange={(event) => turn.mutate({ id: one.id, enabled: event.currentTarget.checked })}
                  />
                ) : (
                  t(one.enabled ? "triggers.on" : "triggers.off")
                )}
              </td>
              <td>
                {one.last_state ? (
                  <>
                    {t(`notices.state.${one.last_state}`)} <Ago at={one.last_at} />
                  </>
                ) : (
                  <span className="dim">–</span>
                )}
              </td>
              <td className="num right">{one.dead > 0 ? <Mark tone="bad">{one.dead}</Mark> : one.dead}</td>
              <td className="right">
                {manages && (
                  <>
                    {one.dead > 0 && one.enabled && (
                      <Button
                        size="compact-xs"
                        variant="default"
                        loading={again.isPending && again.variables === one.id}
                        onClick={() => again.mutate(one.id)}
                      >
                        {t("channels.again")}
                      </Button>
                    )}{" "}
                    {one.kind !== "grafana" && (
                      <Button
                        size="compact-xs"
                        variant="default"
                        loading={test.isPending && test.variables === one.id}
                        onClick={() => test.mutate(one.id)}
                      >
                        {t("channels.test")}
                      </Button>
                    )}{" "}
                    <Drop
                      label={t("settings.remove", { name: one.name })}
                      onClick={() => drop.mutate(one.id)}
                    />
                  </>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </Grid>
      <ErrorLine error={test.error ?? turn.error ?? again.error ?? drop.error} />
    </>
  );
}
