import { Select } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { ALERT_STATES, type Alert, type AlertState } from "../../client/triggers";
import type { List } from "../../client/types";
import { Ago } from "../../components/Ago";
import { Grid } from "../../components/Grid";
import { Link } from "../../components/Link";
import { Mark, type Tone } from "../../components/Mark";
import { Panel } from "../../components/Page";
import { Empty, Loaded } from "../../components/States";
import { useSentence } from "../../lib/i18n";
import { get } from "../../lib/queries";
import { choiceField, useUrlState } from "../../lib/urlState";
import { ALERTS } from "./data";
import classes from "./triggers.module.css";

const TONES: Record<AlertState, Tone> = {
  fired: "ok",
  joined: "idle",
  held: "warn",
  refused: "bad",
  unmatched: "warn",
};
const FIELDS = { became: choiceField<AlertState | "">(["", ...ALERT_STATES], "") };
const EVERY_MS = 5_000;

/** What was received, the newest first; what nothing was done about says why. */
export function AlertsPanel() {
  const { t } = useTranslation();
  const [view, setView] = useUrlState(FIELDS);
  const alerts = useQuery({
    queryKey: [...ALERTS, view.became],
    queryFn: () => get<List<Alert>>("/alerts", { state: view.became || undefined, limit: 200 }),
    placeholderData: keepPreviousData,
    refetchInterval: EVERY_MS,
  });
  return (
    <Panel
      flush
      title={t("triggers.part.alerts")}
      aside={
        <Select
          size="xs"
          aria-label={t("triggers.became")}
          placeholder={t("triggers.all")}
          clearable
          data={ALERT_STATES.map((value) => ({ value, label: t(`triggers.state.${value}`) }))}
          value={view.became || null}
          onChange={(became) => setView({ became: (became ?? "") as AlertState | "" })}
        />
      }
    >
      <Loaded query={alerts}>
        {({ items }) =>
          items.length > 0 ? (
            <AlertsTable alerts={items} />
          ) : (
            <Empty title={t("triggers.noAlerts")}>{t("triggers.noAlertsText")}</Empty>
          )
        }
      </Loaded>
    </Panel>
  );
}

function AlertsTable({ alerts }: { alerts: readonly Alert[] }) {
  const { t } = useTranslation();
  const sentence = useSentence();
  return (
    <Grid stack label={t("triggers.part.alerts")}>
      <thead>
        <tr>
          <th>#</th>
          <th>{t("triggers.became")}</th>
          <th>{t("triggers.alert")}</th>
          <th>{t("triggers.host")}</th>
          <th className="right">{t("triggers.sent")}</th>
          <th>{t("triggers.last")}</th>
          <th>{t("nav.incidents")}</th>
          <th>{t("triggers.why")}</th>
        </tr>
      </thead>
      <tbody>
        {alerts.map((one) => (
          <tr key={one.id}>
            <td className="num">{one.number}</td>
            <td>
              <Mark tone={TONES[one.state]}>{t(`triggers.state.${one.state}`)}</Mark>
            </td>
            <td
              title={Object.entries(one.labels)
                .map(([name, value]) => `${name}=${value}`)
                .join("\n")}
            >
              {one.title} <span className="dim">{one.trigger.name}</span>
            </td>
            <td>
              {one.host ? (
                <Link to="/hosts/$hostId" params={{ hostId: one.host.id }}>
                  {one.host.name}
                </Link>
              ) : (
                <span className="dim">–</span>
              )}{" "}
              <span className="dim">{one.service}</span>
            </td>
            <td className="num right">{one.count}</td>
            <td className="num">
              <Ago at={one.last_at} /> {one.resolved_at && <span className="dim">{t("triggers.over")}</span>}
            </td>
            <td className="num">
              {one.incident_id ? (
                <Link to="/incidents/$incidentId" params={{ incidentId: one.incident_id }}>
                  #{one.incident_number}
                </Link>
              ) : (
                <span className="dim">–</span>
              )}{" "}
              {one.diagnosis_id && (
                <Link to="/diagnoses/$diagnosisId" params={{ diagnosisId: one.diagnosis_id }}>
                  {t("triggers.diagnosis")}
                </Link>
              )}
            </td>
            <td className={classes.why}>
              {one.reason && sentence(one.reason)}
              {one.state === "fired" &&
                one.peers.length > 0 &&
                t("triggers.with", { peers: one.peers.map((each) => each.name).join(", ") })}
            </td>
          </tr>
        ))}
      </tbody>
    </Grid>
  );
}
