import { Button } from "@mantine/core";
import type { Watcher } from "../../client/models";
import { ErrorLine } from "../../components/EmptyState";
import { Link } from "../../components/Link";
import { StatusIcon, type Tone } from "../../components/StatusIcon";
import { DataTable } from "../../components/tables/DataTable";
import { RelativeTime } from "../../components/text/RelativeTime";
import { formatBytes, formatQuantity, formatSeconds, NO_VALUE } from "../../core/text/format";
import { post, useAction, usePermission } from "../../lib/queries";
import { useLocale, useMessage } from "../../lib/text/i18n";
import { useNames } from "../../lib/text/useNames";
import { useTranslation } from "../../lib/text/useTranslation";
import type { WatcherState } from "./api";
import { useConditionKinds, WATCHERS } from "./api";
import { conditionText, lastReading, watcherTitle } from "./conditionText";
import { Sparkline } from "./Sparkline";
import classes from "./watchers.module.css";

const TONES: Record<WatcherState, Tone> = {
  waiting: "idle",
  watching: "busy",
  completed: "ok",
  expired: "off",
  canceled: "off",
  failed: "bad",
};

interface Props {
  rows: readonly Watcher[];
  /** Omit the column of hosts, for the page of a host. */
  onHost?: boolean;
}

/** Render watchers: state, condition with last readings, expiry, cost, and the captures that they started. */
export function WatchersTable({ rows, onHost = false }: Props) {
  const { t } = useTranslation();
  const can = usePermission();
  const end = useAction((id: string) => post(`/watchers/${id}/stop`), [WATCHERS]);
  return (
    <>
      <DataTable stack label={t("watchers.title")}>
        <thead>
          <tr>
            <th>{t("watchers.number")}</th>
            {!onHost && <th>{t("watchers.host")}</th>}
            <th>{t("captures.state")}</th>
            <th>{t("watchers.waitsFor")}</th>
            <th>{t("watchers.until")}</th>
            <th>{t("watchers.cost")}</th>
            <th>{t("watchers.started")}</th>
            <th>{t("watchers.by")}</th>
            <th>
              <span className="visually-hidden">{t("watchers.end")}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((watcher) => (
            <tr key={watcher.id}>
              <td className="num">#{watcher.number}</td>
              {!onHost && (
                <td>
                  <Link to="/hosts/$hostId" params={{ hostId: watcher.host.id }}>
                    {watcher.host.name}
                  </Link>
                </td>
              )}
              <td className={classes.detail}>
                <WatcherStateCell watcher={watcher} />
              </td>
              <td>
                {watcher.kind === "lookback" ? (
                  <BufferCell watcher={watcher} />
                ) : (
                  <ConditionCell watcher={watcher} />
                )}
              </td>
              <td className="num">
                <RelativeTime at={watcher.ended_at ?? watcher.expires_at} />
              </td>
              <td className="num">
                <CostCell watcher={watcher} />
              </td>
              <td className={classes.detail}>
                <CaptureLinks watcher={watcher} />
              </td>
              <td>{watcher.requested_by?.name ?? <span className="dim">{NO_VALUE}</span>}</td>
              <td>
                {watcher.ended_at === null &&
                  can(watcher.kind === "lookback" ? "watcher.lookback" : "watcher.conditional") && (
                    <Button
                      size="compact-xs"
                      variant="default"
                      loading={end.isPending && end.variables === watcher.id}
                      onClick={() => end.mutate(watcher.id)}
                      aria-label={t("watchers.endOne", { number: watcher.number, host: watcher.host.name })}
                    >
                      {t(watcher.kind === "lookback" ? "watchers.stop" : "watchers.stopOne")}
                    </Button>
                  )}
              </td>
            </tr>
          ))}
        </tbody>
      </DataTable>
      <ErrorLine error={end.error} />
    </>
  );
}

function WatcherStateCell({ watcher }: { watcher: Watcher }) {
  const { t } = useTranslation();
  const formatMessage = useMessage();
  const why = watcher.failure ?? watcher.wait_reason;
  return (
    <>
      <StatusIcon tone={TONES[watcher.state]}>{t(`watchers.state.${watcher.state}`)}</StatusIcon>
      {why && <div className="dim">{formatMessage(why)}</div>}
      {watcher.interruption_count > 0 && (
        <div className="dim">{t("watchers.interrupted", { count: watcher.interruption_count })}</div>
      )}
    </>
  );
}

function BufferCell({ watcher }: { watcher: Watcher }) {
  const { t } = useTranslation();
  return (
    <>
      {t("watchers.keeps", { length: formatSeconds(watcher.lookback_s) })}
      {watcher.stacks && <div className="dim">{t("watchers.withStacks")}</div>}
      {watcher.buffered_s !== null && (
        <div className="dim num">{t("watchers.kept", { length: formatSeconds(watcher.buffered_s) })}</div>
      )}
    </>
  );
}

function ConditionCell({ watcher }: { watcher: Watcher }) {
  const { t } = useTranslation();
  const names = useNames();
  const locale = useLocale();
  const kinds = useConditionKinds().data;
  return (
    <>
      {watcher.conditions.map((each, index) => {
        const title = watcherTitle(kinds, each.kind, locale);
        const values = watcher.readings?.values[index] ?? [];
        const text = conditionText(each, title);
        return (
          <div key={text} className={classes.condition}>
            <span>{text}</span>
            {!each.is_start && watcher.ended_at === null && (
              <>
                <Sparkline
                  values={values}
                  limit={each.limit}
                  label={t("watchers.lastReadings", { what: text })}
                />
                <span className="num dim">{lastReading(values, each.unit)}</span>
              </>
            )}
          </div>
        );
      })}
      {watcher.capture && (
        <div className="dim">{t("watchers.captures", { plan: names.plan(watcher.capture.plan) })}</div>
      )}
      {watcher.incident && (
        <div className="dim">
          <Link to="/incidents/$incidentId" params={{ incidentId: watcher.incident.id }}>
            {t("watchers.forIncident", { number: watcher.incident.number })}
          </Link>
        </div>
      )}
    </>
  );
}

function CostCell({ watcher }: { watcher: Watcher }) {
  const { t } = useTranslation();
  if (!watcher.cost) return <span className="dim">{NO_VALUE}</span>;
  return (
    <>
      <div title={t("watchers.cpuText")}>{formatQuantity(watcher.cost.cpu_pct, "pct")} CPU</div>
      <div className="dim" title={t("watchers.memoryText")}>
        {formatBytes(watcher.cost.rss_kb * 1024)} + {formatBytes(watcher.cost.lookback_bytes)}
      </div>
    </>
  );
}

function CaptureLinks({ watcher }: { watcher: Watcher }) {
  const { t } = useTranslation();
  const formatMessage = useMessage();
  if (watcher.kind === "lookback") return <span className="dim">{NO_VALUE}</span>;
  return (
    <>
      <div className="num">
        {t("watchers.captureCount", { count: watcher.capture_count, most: watcher.max_captures })}
      </div>
      {watcher.captures.map((capture) => (
        <div key={capture.id}>
          <Link to="/captures/$captureId" params={{ captureId: capture.id }}>
            #{capture.number}
          </Link>{" "}
          <span className="dim">
            <RelativeTime at={capture.created_at} />
          </span>
        </div>
      ))}
      {watcher.rejection && (
        <>
          <StatusIcon tone="warn">
            {t("watchers.notStarted")} <RelativeTime at={watcher.rejection.at} />
          </StatusIcon>
          <div className="dim">{formatMessage(watcher.rejection.reason)}</div>
        </>
      )}
    </>
  );
}
