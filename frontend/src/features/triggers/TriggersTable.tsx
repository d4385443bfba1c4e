import { StatusIcon, Tag } from "../../components/StatusIcon";
import { DataTable } from "../../components/tables/DataTable";
import { RelativeTime } from "../../components/text/RelativeTime";
import { useMessage } from "../../lib/text/i18n";
import { useTranslation } from "../../lib/text/useTranslation";
import type { Trigger } from "./api";
import { ALERT_STATES } from "./api";
import classes from "./triggers.module.css";

interface Props {
  triggers: readonly Trigger[];
  onEdit: ((id: string) => void) | undefined;
}

/** Table of triggers: alerts of today by state, last alert, last rejected request, channels and owner. */
export function TriggersTable({ triggers, onEdit }: Props) {
  const { t } = useTranslation();
  const formatMessage = useMessage();
  return (
    <DataTable stack label={t("triggers.part.triggers")}>
      <thead>
        <tr>
          <th>{t("triggers.name")}</th>
          <th>{t("triggers.kind")}</th>
          <th>{t("captures.state")}</th>
          <th>{t("triggers.today")}</th>
          <th>{t("triggers.lastAlertAt")}</th>
          <th>{t("triggers.lastRejected")}</th>
          <th>{t("triggers.channels")}</th>
          <th>{t("triggers.owner")}</th>
        </tr>
      </thead>
      <tbody>
        {triggers.map((trigger) => (
          <tr key={trigger.id}>
            <td>
              {onEdit ? (
                <button type="button" className={classes.name} onClick={() => onEdit(trigger.id)}>
                  {trigger.name}
                </button>
              ) : (
                trigger.name
              )}
            </td>
            <td>
              {t(`triggers.kinds.${trigger.kind}`)}{" "}
              <span className="dim">{t(`triggers.proofs.${trigger.proof}`)}</span>
            </td>
            <td>
              <StatusIcon tone={trigger.enabled ? "ok" : "off"}>
                {t(trigger.enabled ? "triggers.on" : "triggers.off")}
              </StatusIcon>
            </td>
            <td className="num">
              <span className={classes.tags}>
                {ALERT_STATES.filter((state) => trigger.alerts[state]).map((state) => (
                  <Tag key={state}>
                    {trigger.alerts[state]} {t(`triggers.state.${state}`)}
                  </Tag>
                ))}
                {Object.keys(trigger.alerts).length === 0 && <span className="dim">–</span>}
              </span>
            </td>
            <td className="num">
              <RelativeTime at={trigger.last_alert_at} />
            </td>
            <td className={classes.reason}>
              {trigger.rejection_reason ? (
                <>
                  <StatusIcon tone="warn">{formatMessage(trigger.rejection_reason)}</StatusIcon>{" "}
                  <span className="dim">
                    <RelativeTime at={trigger.rejected_at} />
                  </span>
                </>
              ) : (
                <span className="dim">–</span>
              )}
            </td>
            <td>{trigger.channels.map((each) => each.name).join(", ") || <span className="dim">–</span>}</td>
            <td>{trigger.owner?.name ?? <span className="dim">–</span>}</td>
          </tr>
        ))}
      </tbody>
    </DataTable>
  );
}
