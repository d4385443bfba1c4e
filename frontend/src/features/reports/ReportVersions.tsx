import { Anchor, Button } from "@mantine/core";
import { Snowflake } from "lucide-react";
import { useState } from "react";
import type { Report, ReportVersion } from "../../client/models";
import { EmptyState, ErrorLine } from "../../components/EmptyState";
import { Panel } from "../../components/Page";
import { StatusIcon } from "../../components/StatusIcon";
import { RelativeTime } from "../../components/text/RelativeTime";
import { useApproveVersion, useFreezeReport } from "../../lib/incidents/reports";
import { useMe } from "../../lib/queries";
import { useTranslation } from "../../lib/text/useTranslation";
import classes from "./Reports.module.css";
import { ShareDialog } from "./ShareDialog";
import { ShareLinks } from "./ShareLinks";

/** Frozen versions of a report with their approvals and share links. */
export function ReportVersions({ report }: { report: Report }) {
  const { t } = useTranslation();
  const freeze = useFreezeReport(report);
  const [shared, setShared] = useState<ReportVersion>();
  return (
    <div className={classes.stack}>
      <Panel
        title={t("reports.versions.title")}
        headerExtra={
          report.permissions.edit && (
            <Button
              leftSection={<Snowflake size={14} />}
              loading={freeze.isPending}
              onClick={() => freeze.mutate(undefined)}
            >
              {t("reports.versions.freeze")}
            </Button>
          )
        }
      >
        <ErrorLine error={freeze.error} />
        {report.versions.length === 0 ? (
          <EmptyState title={t("reports.versions.none")}>{t("reports.versions.noneText")}</EmptyState>
        ) : (
          report.versions.map((reportVersion) => (
            <VersionItem
              key={reportVersion.id}
              report={report}
              version={reportVersion}
              onShare={() => setShared(reportVersion)}
            />
          ))
        )}
      </Panel>
      {report.versions.length > 0 && <ShareLinks report={report} />}
      {shared && <ShareDialog report={report} version={shared} onClose={() => setShared(undefined)} />}
    </div>
  );
}

interface Props {
  report: Report;
  version: ReportVersion;
  onShare: () => void;
}

function VersionItem({ report, version, onShare }: Props) {
  const { t } = useTranslation();
  const me = useMe().data;
  const approve = useApproveVersion(report);
  const file = (form: string) => `/api/v1/report-versions/${version.id}/file?form=${form}`;
  const total = Object.values(version.counts).reduce((sum, n) => sum + n, 0);
  const own = version.created_by?.id === me?.id;
  const ready = report.permissions.alone || version.approved_at !== null;
  return (
    <article className={classes.version} aria-label={t("reports.versions.one", { number: version.number })}>
      <div className={classes.buttons}>
        <strong>{t("reports.versions.one", { number: version.number })}</strong>
        <RelativeTime at={version.created_at} />
        <span className="dim">{version.created_by?.name}</span>
        {version.approved_by ? (
          <StatusIcon tone="ok">
            {t("reports.versions.approvedBy", { name: version.approved_by.name })}
          </StatusIcon>
        ) : (
          <StatusIcon tone="idle">{t("reports.versions.notApproved")}</StatusIcon>
        )}
        {!version.intact && <StatusIcon tone="bad">{t("reports.versions.altered")}</StatusIcon>}
      </div>
      <code className={classes.hash}>sha256 {version.sha256}</code>
      <span className="dim">{t("reports.versions.replaced", { count: total })}</span>
      <div className={classes.buttons}>
        <Anchor size="sm" href={file("html")} download>
          HTML
        </Anchor>
        <Anchor size="sm" href={file("markdown")} download>
          Markdown
        </Anchor>
        <Anchor size="sm" href={file("json")} download>
          JSON
        </Anchor>
        {report.permissions.approve && !version.approved_at && (
          <Button
            variant="default"
            size="xs"
            disabled={own}
            title={own ? t("reports.versions.approveOther") : ""}
            loading={approve.isPending}
            onClick={() => approve.mutate(version.id)}
          >
            {t("reports.versions.approve")}
          </Button>
        )}
        {report.permissions.share && (
          <Button
            variant="default"
            size="xs"
            disabled={!ready}
            title={ready ? "" : t("reports.versions.shareNeeds")}
            onClick={onShare}
          >
            {t("reports.share.open")}
          </Button>
        )}
      </div>
      {own && report.permissions.approve && !version.approved_at && !report.permissions.alone && (
        <p className={classes.note}>{t("reports.versions.approveOther")}</p>
      )}
      <ErrorLine error={approve.error} />
    </article>
  );
}
