import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import type { RunVisuals, Visual } from "../../client/visuals";
import { Fold } from "../../components/Fold";
import { BlockSkeleton, Empty, Loaded } from "../../components/States";
import { get, keys } from "../../lib/queries";
import { NotDrawn, VisualFrame } from "./VisualFrame";
import classes from "./Visuals.module.css";

interface Props {
  runId: string;
  /** Only pictures that illustrate these rules. */
  findings?: readonly string[];
  /** Only these pictures; together with `findings`, both. */
  ids?: readonly string[];
  /** The run that is shown as the one before, where a picture can show two. */
  baseline?: string | undefined;
  /** Beside something else: where nothing is drawn, nothing is said about it. */
  beside?: boolean;
}

/** The pictures of a run; asked for once, kept until the run is read anew. */
export const useRunVisuals = (
  runId: string,
  ids: readonly string[] = [],
  findings: readonly string[] = [],
  baseline: string | undefined = undefined,
) =>
  useQuery({
    queryKey: [...keys.run(runId), "visuals", [...ids], [...findings], baseline ?? ""],
    queryFn: () =>
      get<RunVisuals>(`/runs/${runId}/visuals`, { ids: [...ids], findings: [...findings], baseline }),
    enabled: runId !== "",
    placeholderData: keepPreviousData,
  });

/** What a run brought home, as pictures; those that nothing was collected for are named below, with the reason. */
export function Visuals({ runId, findings = [], ids = [], baseline, beside = false }: Props) {
  const { t } = useTranslation();
  const query = useRunVisuals(runId, ids, findings, baseline);
  if (beside && !query.data?.visuals.some((one) => one.body !== null)) return null;
  return (
    <Loaded query={query} skeleton={<BlockSkeleton height={240} />}>
      {({ visuals }) =>
        visuals.length === 0 ? (
          <Empty title={t("visuals.none")}>{t("visuals.noneText")}</Empty>
        ) : (
          <Drawings visuals={visuals} />
        )
      }
    </Loaded>
  );
}

function Drawings({ visuals }: { visuals: readonly Visual[] }) {
  const { t } = useTranslation();
  const missing = visuals.filter((one) => one.body === null);
  return (
    <>
      {missing.length < visuals.length && (
        <div className={classes.all}>
          {visuals.map(
            (one) => one.body !== null && <VisualFrame key={one.id} visual={one} body={one.body} />,
          )}
        </div>
      )}
      {missing.length > 0 && (
        <Fold
          id="undrawn"
          open={missing.length === visuals.length}
          title={t("visuals.missing")}
          count={missing.length}
          hint={t("visuals.missingHint")}
        >
          <ul className={classes.missing}>
            {missing.map((one) => (
              <NotDrawn key={one.id} visual={one} />
            ))}
          </ul>
        </Fold>
      )}
    </>
  );
}
