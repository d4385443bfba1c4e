import { Button } from "@mantine/core";
import { RelativeTime } from "../../components/text/RelativeTime";
import { usePermission } from "../../lib/queries";
import { useMessage } from "../../lib/text/i18n";
import { useTranslation } from "../../lib/text/useTranslation";
import type { GrafanaAnnotation, Notification } from "./api";
import classes from "./notifications.module.css";

/** Column headings of `DeliveryStatus`. */
export function DeliveryHeader() {
  const { t } = useTranslation();
  return (
    <>
      <th>{t("notifications.channel")}</th>
      <th className="right">{t("notifications.attempts")}</th>
      <th>{t("notifications.at")}</th>
      <th>{t("triggers.why")}</th>
    </>
  );
}

interface Props {
  delivery: Notification | GrafanaAnnotation;
  retry: { isPending: boolean; variables: string | undefined; mutate(id: string): void };
}

/** Table cells of a delivery: channel, attempts, time and failure, with a retry button. */
export function DeliveryStatus({ delivery, retry }: Props) {
  const { t } = useTranslation();
  const can = usePermission();
  const formatMessage = useMessage();
  return (
    <>
      <td>{delivery.channel}</td>
      <td className="num right">{delivery.attempts}</td>
      <td className="num">
        <RelativeTime at={delivery.sent_at ?? delivery.created_at} />
      </td>
      <td className={classes.detail}>
        {delivery.failure && formatMessage(delivery.failure)}{" "}
        {delivery.state === "failed" && can("channel.manage") && (
          <Button
            size="compact-xs"
            variant="default"
            loading={retry.isPending && retry.variables === delivery.id}
            onClick={() => retry.mutate(delivery.id)}
          >
            {t("action.retry")}
          </Button>
        )}
      </td>
    </>
  );
}
