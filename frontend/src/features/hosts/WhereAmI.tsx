import { useTranslation } from "react-i18next";
import { Link } from "../../components/Link";
import { Panel } from "../../components/Page";
import { BlockSkeleton, Loaded } from "../../components/States";
import { useHostContext } from "../../lib/queries";
import { useTimeFormat } from "../../lib/useFormat";
import { Whereabouts } from "../../renderers/context/Whereabouts";

/** Where am I: it fills itself from the newest run that was read. */
export function WhereAmI({ hostId }: { hostId: string }) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const query = useHostContext(hostId);
  const run = query.data?.run_id;
  return (
    <Panel
      flush
      title={t("context.title")}
      aside={
        run && (
          <>
            <Link to="/runs/$runId" params={{ runId: run }}>
              {t("context.ofRun", { at: time.instant(query.data?.t0_ns, 1e9) })}
            </Link>
            <Link to="/runs/$runId/calls" params={{ runId: run }}>
              {t("calls.title")}
            </Link>
          </>
        )
      }
    >
      <Loaded query={query} skeleton={<BlockSkeleton height={220} />}>
        {(context) => <Whereabouts context={context} />}
      </Loaded>
    </Panel>
  );
}
