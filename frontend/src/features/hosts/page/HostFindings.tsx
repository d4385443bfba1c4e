import { Button } from "@mantine/core";
import { Stethoscope } from "lucide-react";
import { BlockSkeleton, QueryContent } from "../../../components/EmptyState";
import { Link } from "../../../components/Link";
import { Panel } from "../../../components/Page";
import { RelativeTime } from "../../../components/text/RelativeTime";
import { useHostFindings } from "../../../lib/queries";
import { useNames } from "../../../lib/text/useNames";
import { useTranslation } from "../../../lib/text/useTranslation";
import { EvaluationSummary, FindingsBody } from "../../../widgets/findings/FindingsPanel";
import classes from "./HostPage.module.css";

interface Props {
  hostId: string;
  /** Opens the form of a diagnosis; undefined if this host cannot be diagnosed. */
  diagnose: (() => void) | undefined;
}

/** Findings of the newest run on this host. */
export function HostFindings({ hostId, diagnose }: Props) {
  const { t } = useTranslation();
  const names = useNames();
  const query = useHostFindings(hostId);
  const findings = query.data;
  return (
    <Panel
      flush
      title={t("findings.title")}
      headerExtra={
        <>
          {findings && (
            <>
              <span>
                <Link to="/runs/$runId" params={{ runId: findings.run_id }}>
                  {t("findings.ofRun", { plan: names.plan(findings.plan) })}
                </Link>{" "}
                <RelativeTime at={findings.run_ended_at} />
              </span>
              <EvaluationSummary runFindings={findings} />
            </>
          )}
          <Link to="/diagnoses" search={{ host: hostId }}>
            {t("nav.diagnoses")}
          </Link>
        </>
      }
    >
      <QueryContent query={query} skeleton={<BlockSkeleton height={64} />}>
        {(data) =>
          data ? (
            <FindingsBody runFindings={data} hostId={hostId} compact />
          ) : (
            <div className={classes.notDiagnosed}>
              <span>{t("findings.hostNone")}</span>
              {diagnose && (
                <Button
                  size="compact-sm"
                  variant="default"
                  leftSection={<Stethoscope size={13} />}
                  onClick={diagnose}
                >
                  {t("diagnose.button")}
                </Button>
              )}
            </div>
          )
        }
      </QueryContent>
    </Panel>
  );
}
