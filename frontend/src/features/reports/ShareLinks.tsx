import { Button } from "@mantine/core";
import { useState } from "react";
import type { Report, ReportShare } from "../../client/models";
import { ConfirmDelete } from "../../components/ConfirmDelete";
import { Dialog } from "../../components/Dialog";
import { EmptyState, ErrorLine, QueryContent } from "../../components/EmptyState";
import { Panel } from "../../components/Page";
import { StatusIcon } from "../../components/StatusIcon";
import { DataTable } from "../../components/tables/DataTable";
import { RelativeTime } from "../../components/text/RelativeTime";
import { useRevokeShare, useShareVisits } from "../../lib/incidents/reports";
import { useTimeFormat } from "../../lib/text/useFormat";
import { useTranslation } from "../../lib/text/useTranslation";
import classes from "./Reports.module.css";

/** Table of share links of a report with their state and visits. */
export function ShareLinks({ report }: { report: Report }) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const revoke = useRevokeShare(report);
  const [opened, setOpened] = useState<ReportShare>();
  return (
    <Panel flush title={t("reports.shares.title")}>
      <ErrorLine error={revoke.error} />
      {report.shares.length === 0 ? (
        <EmptyState title={t("reports.shares.none")}>
          {report.permissions.alone ? t("reports.shares.noneAlone") : t("reports.shares.noneText")}
        </EmptyState>
      ) : (
        <DataTable stack label={t("reports.shares.title")}>
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
            {report.shares.map((reportShare) => (
              <tr key={reportShare.id}>
                <td className={classes.original}>{reportShare.note || "–"}</td>
                <td className="num">{reportShare.number}</td>
                <td>
                  {reportShare.open ? (
                    <StatusIcon tone="ok">
                      {t("reports.shares.until", { at: time.iso(reportShare.expires_at) })}
                    </StatusIcon>
                  ) : (
                    <StatusIcon tone="off">
                      {t(reportShare.revoked_at ? "reports.shares.revoked" : "reports.shares.expired")}
                    </StatusIcon>
                  )}
                </td>
                <td className="num right">
                  {report.permissions.share ? (
                    <Button variant="subtle" size="compact-xs" onClick={() => setOpened(reportShare)}>
                      {t("reports.shares.visitCount", { count: reportShare.visits })}
                    </Button>
                  ) : (
                    reportShare.visits
                  )}
                </td>
                <td className="right">
                  {reportShare.open && report.permissions.share && (
                    <ConfirmDelete
                      label={t("reports.shares.revoke")}
                      onClick={() => revoke.mutate(reportShare.id)}
                    />
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </DataTable>
      )}
      {opened && <ShareVisits share={opened} onClose={() => setOpened(undefined)} />}
    </Panel>
  );
}

function ShareVisits({ share, onClose }: { share: ReportShare; onClose: () => void }) {
  const { t } = useTranslation();
  return (
    <Dialog onClose={onClose} title={t("reports.shares.visits")} size="44rem">
      <QueryContent query={useShareVisits(share.id)}>
        {(rows) =>
          rows.length === 0 ? (
            <EmptyState title={t("reports.shares.noVisits")} />
          ) : (
            <DataTable stack label={t("reports.shares.visits")}>
              <thead>
                <tr>
                  <th>{t("reports.shares.when")}</th>
                  <th>{t("reports.shares.from")}</th>
                  <th>{t("reports.shares.form")}</th>
                  <th>{t("reports.shares.agent")}</th>
                </tr>
              </thead>
              <tbody>
                {rows.map((reportVisit, n) => (
                  <tr key={n}>
                    <td>
                      <RelativeTime at={reportVisit.at} />
                    </td>
                    <td className="mono">{reportVisit.address}</td>
                    <td>{reportVisit.form}</td>
                    <td className={classes.original}>{reportVisit.agent}</td>
                  </tr>
                ))}
              </tbody>
            </DataTable>
          )
        }
      </QueryContent>
    </Dialog>
  );
}
