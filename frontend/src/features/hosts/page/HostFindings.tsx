import { Button } from "@mantine/core";
import { Stethoscope } from "lucide-react";
import { useTranslation } from "react-i18next";
import { Ago } from "../../components/Ago";
import { Link } from "../../components/Link";
import { Panel } from "../../components/Page";
import { BlockSkeleton, Loaded } from "../../components/States";
import { useHostFindings } from "../../lib/queries";
import { useNames } from "../../lib/useNames";
import { FindingsBody, Looked } from "../../renderers/findings/FindingsPanel";
import classes from "./HostPage.module.css";

interface Props {
  hostId: string;
  /** Opens what diagnoses this host; undefined where that may not be. */
  diagnose: (() => void) | undefined;
}

/** What rules made of the newest run on this host, above everything else that is known of it. */
export function HostFindings({ hostId, diagnose }: Props) {
  const { t } = useTranslation();
  const names = useNames();
  const query = useHostFindings(hostId);
  const found = query.data;
  return (
    <Panel
      flush
      title={t("findings.title")}
      aside={
        <>
          {found && (
            <>
              <span>
                <Link to="/runs/$runId" params={{ runId: found.run_id }}>
                  {t("findings.ofRun", { plan: names.plan(found.plan) })}
                </Link>{" "}
                <Ago at={found.run_ended_at} />
              </span>
              <Looked found={found} />
            </>
          )}
          <Link to="/diagnoses" search={{ host: hostId } as never}>
            {t("nav.diagnoses")}
          </Link>
        </>
      }
    >
      <Loaded query={query} skeleton={<BlockSkeleton height={64} />}>
        {(data) =>
          data ? (
            <FindingsBody found={data} hostId={hostId} compact />
          ) : (
            <div className={classes.unasked}>
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
      </Loaded>
    </Panel>
  );
}
