import { Select } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { EmptyState, QueryContent } from "../../components/EmptyState";
import { Link } from "../../components/Link";
import { Panel } from "../../components/Page";
import { StatusIcon, type Tone } from "../../components/StatusIcon";
import { DataTable } from "../../components/tables/DataTable";
import { RelativeTime } from "../../components/text/RelativeTime";
import { get } from "../../lib/queries";
import { useMessage } from "../../lib/text/i18n";
import { useTranslation } from "../../lib/text/useTranslation";
import { choiceField, useUrlState } from "../../lib/urlState";
import type { Alert, AlertState } from "./api";
import { ALERT_STATES, ALERTS } from "./api";
import classes from "./triggers.module.css";

const TONES: Record<AlertState, Tone> = {
  started: "ok",
  joined: "idle",
  deferred: "warn",
  refused: "bad",
  unmatched: "warn",
};
const FIELDS = { became: choiceField<AlertState | "">(["", ...ALERT_STATES], "") };
const EVERY_MS = 5_000;

/** Received alerts, newest first; alerts without a capture show the reason. */
export function AlertsPanel() {
  const { t } = useTranslation();
  const [view, setView] = useUrlState(FIELDS);
  const alerts = useQuery({
    queryKey: [...ALERTS, view.became],
    queryFn: () => get("/alerts", { state: view.became || undefined, limit: 200 }),
    placeholderData: keepPreviousData,
    refetchInterval: EVERY_MS,
  });
  return (
    <Panel
      flush
      title={t("triggers.part.alerts")}
      headerExtra={
        <Select
          size="xs"
          aria-label={t("triggers.history")}
          placeholder={t("triggers.all")}
          clearable
          data={ALERT_STATES.map((value) => ({ value, label: t(`triggers.state.${value}`) }))}
          value={view.became || null}
          onChange={(became) => setView({ became: (became ?? "") as AlertState | "" })}
        />
      }
    >
      <QueryContent query={alerts}>
        {({ items }) =>
          items.length > 0 ? (
            <AlertsTable alerts={items} />
          ) : (
            <EmptyState title={t("triggers.noAlerts")}>{t("triggers.noAlertsText")}</EmptyState>
          )
        }
      </QueryContent>
    </Panel>
  );
}

function AlertsTable({ alerts }: { alerts: readonly Alert[] }) {
  const { t } = useTranslation();
  const formatMessage = useMessage();
  return (
    <DataTable stack label={t("triggers.part.alerts")}>
      <thead>
        <tr>
          <th>#</th>
          <th>{t("triggers.history")}</th>
          <th>{t("triggers.alert")}</th>
          <th>{t("triggers.host")}</th>
          <th className="right">{t("triggers.sent")}</th>
          <th>{t("triggers.last")}</th>
          <th>{t("nav.incidents")}</th>
          <th>{t("triggers.why")}</th>
        </tr>
      </thead>
      <tbody>
        {alerts.map((alert) => (
          <tr key={alert.id}>
            <td className="num">{alert.number}</td>
            <td>
              <StatusIcon tone={TONES[alert.state]}>{t(`triggers.state.${alert.state}`)}</StatusIcon>
            </td>
            <td
              title={Object.entries(alert.labels)
                .map(([name, value]) => `${name}=${value}`)
                .join("\n")}
            >
              {alert.title} <span className="dim">{alert.trigger.name}</span>
            </td>
            <td>
              {alert.host ? (
                <Link to="/hosts/$hostId" params={{ hostId: alert.host.id }}>
                  {alert.host.name}
                </Link>
              ) : (
                <span className="dim">–</span>
              )}{" "}
              <span className="dim">{alert.service}</span>
            </td>
            <td className="num right">{alert.count}</td>
            <td className="num">
              <RelativeTime at={alert.last_at} />{" "}
              {alert.resolved_at && <span className="dim">{t("triggers.resolved")}</span>}
            </td>
            <td className="num">
              {alert.incident_id ? (
                <Link to="/incidents/$incidentId" params={{ incidentId: alert.incident_id }}>
                  #{alert.incident_number}
                </Link>
              ) : (
                <span className="dim">–</span>
              )}{" "}
              {alert.diagnosis_id && (
                <Link to="/diagnoses/$diagnosisId" params={{ diagnosisId: alert.diagnosis_id }}>
                  {t("triggers.diagnosis")}
                </Link>
              )}
            </td>
            <td className={classes.reason}>
              {alert.reason && formatMessage(alert.reason)}
              {alert.state === "started" &&
                alert.peers.length > 0 &&
                t("triggers.with", { peers: alert.peers.map((each) => each.name).join(", ") })}
            </td>
          </tr>
        ))}
      </tbody>
    </DataTable>
  );
}
