import { Button, Collapse } from "@mantine/core";
import { ChevronDown, ChevronRight, Stethoscope } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { Check, CollectorReadiness, Host, Preflight } from "../../client/types";
import { Ago } from "../../components/Ago";
import { Grid } from "../../components/Grid";
import { Mark, StateMark } from "../../components/Mark";
import { Mend } from "../../components/Mend";
import { Panel } from "../../components/Page";
import { ErrorLine, ErrorState, RowSkeleton } from "../../components/States";
import { bytes } from "../../core/format";
import { usePick, useSentence } from "../../lib/i18n";
import { useCheckHost, useCollectors, useMay, usePreflight } from "../../lib/queries";
import classes from "./HostPage.module.css";

/** What a check found; sizes come in bytes and are written as sizes. */
export function checkValue({ id, value }: Pick<Check, "id" | "value">): string {
  if (value === null) return "–";
  if (!/bytes|space/.test(id)) return String(value);
  return String(value).replace(/\b\d{4,}\b/g, (size) => bytes(Number(size)));
}

const busy = (preflight: Preflight | null | undefined) =>
  preflight?.state === "queued" || preflight?.state === "running";

/** What works on this host, what does not, and what mends it. */
export function PreflightPanel({ host }: { host: Host }) {
  const { t } = useTranslation();
  const may = useMay();
  const sentence = useSentence();
  const preflight = usePreflight(host.id);
  const check = useCheckHost(host.id);
  const [open, setOpen] = useState(false);
  const data = preflight.data;
  const collectors = data?.collectors ?? [];
  const lacking = collectors.filter((one) => one.state !== "works");
  const checks = (data?.checks ?? []).filter((one) => one.state !== "ok");
  const count = (state: CollectorReadiness["state"]) =>
    collectors.filter((one) => one.state === state).length;
  const running = busy(data) || check.isPending;
  return (
    <Panel
      flush
      title={t("preflight.title")}
      aside={
        <>
          {data?.state === "done" && (
            <>
              <Mark tone="ok">{t("preflight.works", { count: count("works") })}</Mark>
              {count("degrades") > 0 && (
                <Mark tone="warn">{t("preflight.degrades", { count: count("degrades") })}</Mark>
              )}
              {count("does_not_work") > 0 && (
                <Mark tone="bad">{t("preflight.doesNotWork", { count: count("does_not_work") })}</Mark>
              )}
              <Ago at={data.at} />
            </>
          )}
          {may("host.check") && host.state === "active" && (
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
          <Mark tone="idle">{t("preflight.none")}</Mark>
          {" · "}
          <span className="dim">{t("preflight.noneText")}</span>
        </p>
      ) : running ? (
        <p className={classes.pad} role="status">
          {t("preflight.running")}
        </p>
      ) : data.state === "failed" ? (
        <div className={classes.pad} role="alert">
          <Mark tone="bad">{sentence(data.failure)}</Mark>
        </div>
      ) : (
        <>
          {lacking.length > 0 && <Readiness rows={lacking} />}
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
            <Grid stack label={t("preflight.checks")}>
              <thead>
                <tr>
                  <th>{t("preflight.checkName")}</th>
                  <th>{t("preflight.state")}</th>
                  <th>{t("preflight.value")}</th>
                  <th>{t("preflight.mend")}</th>
                </tr>
              </thead>
              <tbody>
                {(data.checks ?? []).map((one) => (
                  <tr key={one.id}>
                    <td className="mono">{one.id}</td>
                    <td>
                      <StateMark state={one.state} />
                    </td>
                    <td className="num">{checkValue(one)}</td>
                    <td>
                      {one.reason && <div>{sentence(one.reason)}</div>}
                      <Mend mend={one.mend} />
                    </td>
                  </tr>
                ))}
              </tbody>
            </Grid>
            <Readiness rows={collectors} />
          </Collapse>
        </>
      )}
    </Panel>
  );
}

function Readiness({ rows }: { rows: readonly CollectorReadiness[] }) {
  const { t } = useTranslation();
  const sentence = useSentence();
  const pick = usePick();
  const about = useCollectors();
  return (
    <Grid stack label={t("preflight.collectors")}>
      <thead>
        <tr>
          <th>{t("preflight.collector")}</th>
          <th>{t("preflight.state")}</th>
          <th>{t("preflight.why")}</th>
          <th>{t("preflight.mend")}</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.id}>
            <td>
              <span title={row.id}>
                {pick(about.data?.find((one) => one.id === row.id)?.title) || row.id}
              </span>
            </td>
            <td>
              <StateMark state={row.state} />
            </td>
            <td>
              {row.reason ? sentence(row.reason) : row.way ? <span className="dim">{row.way}</span> : "–"}
            </td>
            <td>
              <Mend mend={row.mend} />
            </td>
          </tr>
        ))}
      </tbody>
    </Grid>
  );
}
