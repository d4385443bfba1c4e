import { useTranslation } from "react-i18next";
import type { HostContext } from "../../client/types";
import { Fold } from "../../components/Fold";
import { Link } from "../../components/Link";
import { Panel } from "../../components/Page";
import { BlockSkeleton, Loaded } from "../../components/States";
import { useHostContext } from "../../lib/queries";
import { useTimeFormat } from "../../lib/useFormat";
import { Whereabouts } from "../../renderers/context/Whereabouts";
import classes from "./HostPage.module.css";

/** Where am I: it fills itself from the newest run that was read, and says in a line what is unusual. */
export function WhereAmI({ hostId }: { hostId: string }) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const query = useHostContext(hostId);
  const run = query.data?.run_id;
  return (
    <Panel flush>
      <Fold id="where" title={t("context.title")} hint={query.data && <Hint context={query.data} />}>
        {run && (
          <p className={classes.ofRun}>
            <Link to="/runs/$runId" params={{ runId: run }}>
              {t("context.ofRun", { at: time.instant(query.data?.t0_ns, 1e9) })}
            </Link>
            <Link to="/runs/$runId/calls" params={{ runId: run }}>
              {t("calls.title")}
            </Link>
          </p>
        )}
        <Loaded query={query} skeleton={<BlockSkeleton height={220} />}>
          {(context) => <Whereabouts context={context} />}
        </Loaded>
      </Fold>
    </Panel>
  );
}

function Hint({ context }: { context: HostContext }) {
  const { t } = useTranslation();
  if (context.run_id === null) return t("context.hintNone");
  const items = context.sections.flatMap((one) => one.items);
  const changes = context.sections.find((one) => one.id === "changes")?.items.length ?? 0;
  const well = context.twins.twins.filter((one) => one.healthy).length;
  return [
    t("context.hintUnusual", { count: items.filter((one) => one.unusual).length }),
    t("context.hintChanges", { count: changes }),
    well > 0 ? t("context.hintTwins", { count: well }) : "",
  ]
    .filter(Boolean)
    .join(" · ");
}
