import { Button, Switch } from "@mantine/core";
import type { Channel } from "../../client/models";
import { ConfirmDelete } from "../../components/ConfirmDelete";
import { ErrorLine } from "../../components/EmptyState";
import { StatusIcon } from "../../components/StatusIcon";
import { DataTable } from "../../components/tables/DataTable";
import { RelativeTime } from "../../components/text/RelativeTime";
import { patch, post, remove, useAction, usePermission } from "../../lib/queries";
import { useTranslation } from "../../lib/text/useTranslation";
import { ANNOTATIONS, CHANNELS, NOTIFICATIONS } from "./api";

/** Table of channels: destination, last delivery, and number of failed deliveries. */
export function ChannelsTable({ channels }: { channels: readonly Channel[] }) {
  const { t } = useTranslation();
  const can = usePermission();
  const manages = can("channel.manage");
  const test = useAction(
    (id: string) => post(`/channels/${id}/test`, undefined, crypto.randomUUID()),
    [CHANNELS, NOTIFICATIONS],
  );
  const turn = useAction(
    ({ id, enabled }: { id: string; enabled: boolean }) => patch(`/channels/${id}`, { enabled }),
    [CHANNELS],
  );
  const again = useAction(
    (id: string) => post(`/channels/${id}/retry`),
    [CHANNELS, NOTIFICATIONS, ANNOTATIONS],
  );
  const drop = useAction((id: string) => remove(`/channels/${id}`), [CHANNELS, NOTIFICATIONS]);
  return (
    <>
      <DataTable stack label={t("channels.title")}>
        <thead>
          <tr>
            <th>{t("triggers.name")}</th>
            <th>{t("triggers.kind")}</th>
            <th>{t("channels.destination")}</th>
            <th>{t("nav.language")}</th>
            <th>{t("captures.state")}</th>
            <th>{t("channels.last")}</th>
            <th className="right">{t("channels.failed")}</th>
            <th>
              <span className="visually-hidden">{t("host.more")}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {channels.map((channel) => (
            <tr key={channel.id}>
              <td>{channel.name}</td>
              <td>{t(`channels.kinds.${channel.kind}`)}</td>
              <td className="mono">
                {[channel.destination.server, ...(channel.destination.to ?? [])].filter(Boolean).join(" ")}
              </td>
              <td>{channel.locale === "zh" ? "中文" : "English"}</td>
              <td>
                {manages ? (
                  <Switch
                    size="xs"
                    checked={channel.enabled}
                    aria-label={t("channels.enabled", { name: channel.name })}
                    onChange={(event) =>
                      turn.mutate({ id: channel.id, enabled: event.currentTarget.checked })
                    }
                  />
                ) : (
                  t(channel.enabled ? "triggers.on" : "triggers.off")
                )}
              </td>
              <td>
                {channel.last_state ? (
                  <>
                    {t(`notifications.state.${channel.last_state}`)} <RelativeTime at={channel.last_at} />
                  </>
                ) : (
                  <span className="dim">–</span>
                )}
              </td>
              <td className="num right">
                {channel.failed > 0 ? <StatusIcon tone="bad">{channel.failed}</StatusIcon> : channel.failed}
              </td>
              <td className="right">
                {manages && (
                  <>
                    {channel.failed > 0 && channel.enabled && (
                      <Button
                        size="compact-xs"
                        variant="default"
                        loading={again.isPending && again.variables === channel.id}
                        onClick={() => again.mutate(channel.id)}
                      >
                        {t("channels.retryAll")}
                      </Button>
                    )}{" "}
                    {channel.kind !== "grafana" && (
                      <Button
                        size="compact-xs"
                        variant="default"
                        loading={test.isPending && test.variables === channel.id}
                        onClick={() => test.mutate(channel.id)}
                      >
                        {t("channels.test")}
                      </Button>
                    )}{" "}
                    <ConfirmDelete
                      label={t("settings.remove", { name: channel.name })}
                      onClick={() => drop.mutate(channel.id)}
                    />
                  </>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </DataTable>
      <ErrorLine error={test.error ?? turn.error ?? again.error ?? drop.error} />
    </>
  );
}
