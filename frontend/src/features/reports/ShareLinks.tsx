import { Button } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { Report, ReportShare } from "../../client/reports";
import { Ago } from "../../components/Ago";
import { Dialog } from "../../components/Dialog";
import { Drop } from "../../components/Drop";
import { Grid } from "../../components/Grid";
import { Mark } from "../../components/Mark";
import { Panel } from "../../components/Page";
import { Empty, ErrorLine, Loaded } from "../../components/States";
import { useRevoke, useVisits } from "../../lib/reports";
import { useTimeFormat } from "../../lib/useFormat";
import classes from "./Reports.module.css";

/** The links to a report: open, revoked or over, and who opened them. */
export function Shares({ report }: { report: Report }) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const revoke = useRevoke(report);
  const [seen, setSeen] = useState<ReportShare>();
  return (
    <Panel flush title={t("reports.shares.title")}>
      <ErrorLine error={revoke.error} />
      {report.shares.length === 0 ? (
        <Empty title={t("reports.shares.none")}>
          {report.may.alone ? t("reports.shares.noneAlone") : t("reports.shares.noneText")}
        </Empty>
      ) : (
        <Grid stack label={t("reports.shares.title")}>
          <thead>
            <tr>
              <th>{t("reports.share.note")}</th>
              <th>{t("reports.shares.version")}</th>
              <th>{t("reports.shares.state")}</th>
              <th className="right">{t("reports.shares.visits")}</th>
              <th>
                <span className="visually-hidden">{t("host.more")}</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {report.shares.map((one) => (
              <tr key={one.id}>
                <td className={classes.original}>{one.note || "–"}</td>
                <td className="num">{one.number}</td>
                <td>
                  {one.open ? (
                    <Mark tone="ok">{t("reports.shares.until", { at: time.iso(one.expires_at) })}</Mark>
                  ) : (
                    <Mark tone="off">
                      {t(one.revoked_at ? "reports.shares.revoked" : "reports.shares.over")}
                    </Mark>
                  )}
                </td>
                <td className="num right">
                  {report.may.share ? (
                    <Button variant="subtle" size="compact-xs" onClick={() => setSeen(one)}>
                      {t("reports.shares.visitCount", { count: one.visits })}
                    </Button>
                  ) : (
                    one.visits
                  )}
                </td>
                <td className="right">
                  {one.open && report.may.share && (
                    <Drop label={t("reports.shares.revoke")} onClick={() => revoke.mutate(one.id)} />
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </Grid>
      )}
      {seen && <Visits share={seen} onClose={() => setSeen(undefined)} />}
    </Panel>
  );
}

function Visits({ share, onClose }: { share: ReportShare; onClose: () => void }) {
  const { t } = useTranslation();
  return (
    <Dialog onClose={onClose} title={t("reports.shares.visits")} size="44rem">
      <Loaded query={useVisits(share.id)}>
        {(rows) =>
          rows.length === 0 ? (
            <Empty title={t("reports.shares.noVisits")} />
          ) : (
            <Grid stack label={t("reports.shares.visits")}>
              <thead>
                <tr>
                  <th>{t("reports.shares.when")}</th>
                  <th>{t("reports.shares.from")}</th>
                  <th>{t("reports.shares.form")}</th>
                  <th>{t("reports.shares.agent")}</th>
                </tr>
              </thead>
              <tbody>
                {rows.map((one, n) => (
                  <tr key={n}>
                    <td>
                      <Ago at={one.at} />
                    </td>
                    <td className="mono">{one.address}</td>
                    <td>{one.form}</td>
                    <td className={classes.original}>{one.agent}</td>
                  </tr>
                ))}
              </tbody>
            </Grid>
          )
        }
      </Loaded>
    </Dialog>
  );
}
