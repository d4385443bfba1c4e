import { Button, Collapse } from "@mantine/core";
import { ChevronDown, ChevronRight, Stethoscope } from "lucide-react";
import { useState } from "react";
import type { Host, Preflight, PreflightCheck } from "../../../client/models";
import { ErrorLine, ErrorState, RowSkeleton } from "../../../components/EmptyState";
import { Panel } from "../../../components/Page";
import { RunStateIcon, StatusIcon } from "../../../components/StatusIcon";
import { DataTable } from "../../../components/tables/DataTable";
import { RelativeTime } from "../../../components/text/RelativeTime";
import { RemedyHint } from "../../../components/text/RemedyHint";
import { formatBytes } from "../../../core/text/format";
import { useCheckHost, useCollectors, usePermission, usePreflight } from "../../../lib/queries";
import { useLocalized, useMessage } from "../../../lib/text/i18n";
import { useTranslation } from "../../../lib/text/useTranslation";
import type { CollectorReadiness } from "../api";
import classes from "./HostPage.module.css";

/** Return the value of a check as text; byte counts are formatted as sizes. */
export function formatCheckValue({ id, value }: Pick<PreflightCheck, "id" | "value">): string {
  if (value === null) return "–";
  if (!/bytes|space/.test(id)) return String(value);
  return String(value).replace(/\b\d{4,}\b/g, (size) => formatBytes(Number(size)));
}

const isCheckRunning = (preflight: Preflight | null | undefined) =>
  preflight?.state === "queued" || preflight?.state === "running";

/** Result of the preflight check: available and unavailable collectors, with remedies. */
export function PreflightPanel({ host }: { host: Host }) {
  const { t } = useTranslation();
  const can = usePermission();
  const formatMessage = useMessage();
  const preflight = usePreflight(host.id);
  const check = useCheckHost(host.id);
  const [open, setOpen] = useState(false);
  const data = preflight.data;
  const collectors = data?.collectors ?? [];
  const lacking = collectors.filter((collectorReadiness) => collectorReadiness.state !== "works");
  const checks = (data?.checks ?? []).filter((check) => check.state !== "ok");
  const count = (state: CollectorReadiness["state"]) =>
    collectors.filter((collectorReadiness) => collectorReadiness.state === state).length;
  const running = isCheckRunning(data) || check.isPending;
  return (
    <Panel
      flush
      title={t("preflight.title")}
      headerExtra={
        <>
          {data?.state === "done" && (
            <>
              <StatusIcon tone="ok">{t("preflight.works", { count: count("works") })}</StatusIcon>
              {count("degrades") > 0 && (
                <StatusIcon tone="warn">{t("preflight.degrades", { count: count("degrades") })}</StatusIcon>
              )}
              {count("unavailable") > 0 && (
                <StatusIcon tone="bad">
                  {t("preflight.doesNotWork", { count: count("unavailable") })}
                </StatusIcon>
              )}
              <RelativeTime at={data.at} />
            </>
          )}
          {can("host.check") && host.state === "active" && (
            <Button
              size="compact-xs"
              variant="default"
              leftSection={<Stethoscope size={13} />}
              loading={running}
              onClick={() => check.mutate()}
            >
              {data ? t("preflight.again") : t("preflight.check")}
            </Button>
          )}
        </>
      }
    >
      {check.error && (
        <div className={classes.pad}>
          <ErrorLine error={check.error} />
        </div>
      )}
      {preflight.error && data === undefined ? (
        <ErrorState error={preflight.error} retry={() => void preflight.refetch()} />
      ) : data === undefined ? (
        <RowSkeleton rows={2} />
      ) : data === null ? (
        <p className={classes.pad}>
          <StatusIcon tone="idle">{t("preflight.none")}</StatusIcon>
          {" · "}
          <span className="dim">{t("preflight.noneText")}</span>
        </p>
      ) : running ? (
        <p className={classes.pad} role="status">
          {t("preflight.running")}
        </p>
      ) : data.state === "failed" ? (
        <div className={classes.pad} role="alert">
          <StatusIcon tone="bad">{formatMessage(data.failure)}</StatusIcon>
        </div>
      ) : (
        <>
          {lacking.length > 0 && <ReadinessTable rows={lacking} />}
          <Button
            variant="subtle"
            size="compact-xs"
            m={6}
            leftSection={open ? <ChevronDown size={13} /> : <ChevronRight size={13} />}
            onClick={() => setOpen(!open)}
            aria-expanded={open}
          >
            {lacking.length === 0 && checks.length === 0 ? t("preflight.allWorks") : t("preflight.details")}
          </Button>
          <Collapse expanded={open}>
            <DataTable stack label={t("preflight.checks")}>
              <thead>
                <tr>
                  <th>{t("preflight.checkName")}</th>
                  <th>{t("preflight.state")}</th>
                  <th>{t("preflight.value")}</th>
                  <th>{t("preflight.remedy")}</th>
                </tr>
              </thead>
              <tbody>
                {(data.checks ?? []).map((check) => (
                  <tr key={check.id}>
                    <td className="mono">{check.id}</td>
                    <td>
                      <RunStateIcon state={check.state} />
                    </td>
                    <td className="num">{formatCheckValue(check)}</td>
                    <td>
                      {check.reason && <div>{formatMessage(check.reason)}</div>}
                      <RemedyHint remedy={check.remedy} />
                    </td>
                  </tr>
                ))}
              </tbody>
            </DataTable>
            <ReadinessTable rows={collectors} />
          </Collapse>
        </>
      )}
    </Panel>
  );
}

function ReadinessTable({ rows }: { rows: readonly CollectorReadiness[] }) {
  const { t } = useTranslation();
  const formatMessage = useMessage();
  const localize = useLocalized();
  const about = useCollectors();
  return (
    <DataTable stack label={t("preflight.collectors")}>
      <thead>
        <tr>
          <th>{t("preflight.collector")}</th>
          <th>{t("preflight.state")}</th>
          <th>{t("preflight.why")}</th>
          <th>{t("preflight.remedy")}</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.id}>
            <td>
              <span title={row.id}>
                {localize(about.data?.find((collector) => collector.id === row.id)?.title) || row.id}
              </span>
            </td>
            <td>
              <RunStateIcon state={row.state} />
            </td>
            <td>
              {row.reason ? (
                formatMessage(row.reason)
              ) : row.method ? (
                <span className="dim">{row.method}</span>
              ) : (
                "–"
              )}
            </td>
            <td>
              <RemedyHint remedy={row.remedy} />
            </td>
          </tr>
        ))}
      </tbody>
    </DataTable>
  );
}
