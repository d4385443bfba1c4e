import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import type { RunVisuals, Visual } from "../../client/visuals";
import { BlockSkeleton, Empty, Loaded } from "../../components/States";
import { get, keys } from "../../lib/queries";
import { VisualFrame } from "./VisualFrame";
import classes from "./Visuals.module.css";

interface Props {
  runId: string;
  /** Only pictures that illustrate these rules. */
  findings?: readonly string[];
  /** Only these pictures; together with `findings`, both. */
  ids?: readonly string[];
}

/** The pictures of a run; asked for once, kept until the run is read anew. */
export const useRunVisuals = (runId: string, ids: readonly string[] = [], findings: readonly string[] = []) =>
  useQuery({
    queryKey: [...keys.run(runId), "visuals", [...ids], [...findings]],
    queryFn: () => get<RunVisuals>(`/runs/${runId}/visuals`, { ids: [...ids], findings: [...findings] }),
    enabled: runId !== "",
    placeholderData: keepPreviousData,
  });

/** What a run brought home, as pictures; what was not collected is named below, with the reason. */
export function Visuals({ runId, findings = [], ids = [] }: Props) {
  const { t } = useTranslation();
  const query = useRunVisuals(runId, ids, findings);
  return (
    <Loaded query={query} skeleton={<BlockSkeleton height={240} />}>
      {({ visuals }) =>
        visuals.length === 0 ? (
          <Empty title={t("visuals.none")}>{t("visuals.noneText")}</Empty>
        ) : (
          <div className={classes.all}>
            {byState(visuals).map((one) => (
              <VisualFrame key={one.id} visual={one} />
            ))}
          </div>
        )
      }
    </Loaded>
  );
}

/** Pictures first, then those that could not be drawn. */
const byState = (visuals: readonly Visual[]): Visual[] => [
  ...visuals.filter((one) => one.body !== null),
  ...visuals.filter((one) => one.body === null),
];
