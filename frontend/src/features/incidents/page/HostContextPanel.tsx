import { useTranslation } from "react-i18next";
import { Fold } from "../../components/Fold";
import { Link } from "../../components/Link";
import { BlockSkeleton, Loaded } from "../../components/States";
import { useHostContext } from "../../lib/queries";
import { Whereabouts } from "../../renderers/context/Whereabouts";
import classes from "./Incidents.module.css";

/** Where the host of the timeline stands: its machine, its limits, who else runs there, what changed; asked when opened. */
export function Where({ hostId }: { hostId: string }) {
  const { t } = useTranslation();
  return (
    <Fold id="where" title={t("context.title")}>
      <Context hostId={hostId} />
    </Fold>
  );
}

function Context({ hostId }: { hostId: string }) {
  const { t } = useTranslation();
  const query = useHostContext(hostId);
  const run = query.data?.run_id;
  return (
    <>
      {run && (
        <p className={classes.hint}>
          <Link to="/runs/$runId/calls" params={{ runId: run }}>
            {t("calls.title")}
          </Link>
        </p>
      )}
      <Loaded query={query} skeleton={<BlockSkeleton height={220} />}>
        {(context) => <Whereabouts context={context} compact />}
      </Loaded>
    </>
  );
}
