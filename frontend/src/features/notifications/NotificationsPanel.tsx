import { useQuery } from "@tanstack/react-query";
import { EmptyState, ErrorLine, QueryContent } from "../../components/EmptyState";
import { Panel } from "../../components/Page";
import { StatusIcon, type Tone } from "../../components/StatusIcon";
import { DataTable } from "../../components/tables/DataTable";
import { get, post, useAction } from "../../lib/queries";
import { useTranslation } from "../../lib/text/useTranslation";
import type { NotificationState } from "./api";
import { CHANNELS, NOTIFICATIONS } from "./api";
import { DeliveryHeader, DeliveryStatus } from "./DeliveryStatus";
import classes from "./notifications.module.css";

const TONES: Record<NotificationState, Tone> = { queued: "idle", sent: "ok", failed: "bad" };
const POLL_MS = 5_000;

/** Table of all notifications with their recipients and failures. */
export function NotificationsPanel() {
  const { t } = useTranslation();
  const notifications = useQuery({
    queryKey: NOTIFICATIONS,
    queryFn: () => get("/notifications", { limit: 100 }),
    refetchInterval: POLL_MS,
  });
  const again = useAction((id: string) => post(`/notifications/${id}/retry`), [NOTIFICATIONS, CHANNELS]);
  return (
    <Panel flush title={t("notifications.list")}>
      <ErrorLine error={again.error} />
      <QueryContent query={notifications}>
        {({ items }) =>
          items.length > 0 ? (
            <DataTable stack label={t("notifications.list")}>
              <thead>
                <tr>
                  <th>#</th>
                  <th>{t("captures.state")}</th>
                  <th>{t("notifications.message")}</th>
                  <DeliveryHeader />
                </tr>
              </thead>
              <tbody>
                {items.map((notification) => (
                  <tr key={notification.id}>
                    <td className="num">{notification.number}</td>
                    <td>
                      <StatusIcon tone={TONES[notification.state]}>
                        {t(`notifications.state.${notification.state}`)}
                      </StatusIcon>
                    </td>
                    <td className={classes.detail}>
                      <details>
                        <summary>{notification.message.headline}</summary>
                        <div className={classes.stack}>
                          {notification.message.lines.map((line) => (
                            <span key={line}>{line}</span>
                          ))}
                          <img
                            className={classes.chart}
                            src={`/api/v1/notifications/${notification.id}/chart`}
                            alt={t("notifications.chart")}
                            loading="lazy"
                          />
                        </div>
                      </details>
                    </td>
                    <DeliveryStatus delivery={notification} retry={again} />
                  </tr>
                ))}
              </tbody>
            </DataTable>
          ) : (
            <EmptyState title={t("notifications.empty")}>{t("notifications.emptyText")}</EmptyState>
          )
        }
      </QueryContent>
    </Panel>
  );
}
