import { useElementSize } from "@mantine/hooks";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { BlockSkeleton, ErrorLine, QueryContent } from "../../components/EmptyState";
import { Link } from "../../components/Link";
import { RunStateIcon } from "../../components/StatusIcon";
import { type DiffState, formatBothSides, isComparisonBuilt } from "../../core/profiles/difference";
import type { FlameNode } from "../../core/profiles/flame";
import { get } from "../../lib/queries";
import { useMessage } from "../../lib/text/i18n";
import { useTranslation } from "../../lib/text/useTranslation";
import { PinButton } from "../pins/PinButton";
import { ComparisonLegend } from "./ComparisonLegend";
import classes from "./Difference.module.css";
import { FlameGraph } from "./FlameGraph";
import flame from "./FlameGraph.module.css";
import { MergedNames } from "./MergedNames";
import { useChangeText } from "./useChangeText";

const POLL_MS = 1000;

/** Render a small differential flame graph once it is built. A click on a frame opens the comparison at that frame. */
export function ComparisonPreview({ id }: { id: string }) {
  const { t } = useTranslation();
  const formatMessage = useMessage();
  const query = useQuery({
    queryKey: ["diffs", id],
    queryFn: () => get(`/comparisons/${id}`),
    refetchInterval: ({ state }) => (state.data && !isComparisonBuilt(state.data) ? POLL_MS : false),
  });
  const diff = query.data;
  return (
    <section aria-label={t("compare.inCode")}>
      <div className={classes.head}>
        <h4 className={classes.title}>{t("compare.inCode")}</h4>
        <ComparisonLegend />
        {diff && (
          <PinButton
            small
            target={{
              kind: "comparison",
              ref: { left: diff.a.profile_id, right: diff.b.profile_id, what: "profiles" },
            }}
            view={`/comparisons/${id}`}
            label={t("incidents.pin.comparison")}
          />
        )}
      </div>
      <ErrorLine error={query.error} />
      {!diff && !query.error && <BlockSkeleton height={240} />}
      {diff?.state === "failed" && (
        <p className={classes.summary}>
          {t("compare.failed")}: {formatMessage(diff.failure)}
        </p>
      )}
      {diff && !isComparisonBuilt(diff) && <RunStateIcon state={diff.state} />}
      {diff?.state === "ready" && <ComparisonTree diff={diff} />}
    </section>
  );
}

function ComparisonTree({ diff }: { diff: DiffState }) {
  const { t } = useTranslation();
  const text = useChangeText();
  const navigate = useNavigate();
  const { ref, width } = useElementSize<HTMLElement>();
  const [focus, setFocus] = useState<FlameNode | null>(null);
  const wide = Math.round(width / 50) * 50;
  const query = useQuery({
    queryKey: ["diffs", diff.id, "tree", { width: wide, root: undefined }],
    queryFn: ({ signal }) => get(`/comparisons/${diff.id}/tree`, { width: wide }, signal),
    enabled: wide > 0,
    staleTime: Number.POSITIVE_INFINITY,
    placeholderData: keepPreviousData,
  });
  const data = query.data;
  return (
    <>
      <p className={classes.summary}>
        {t("compare.sidesText", { before: diff.a.profiles, after: diff.b.profiles })}
      </p>
      <figure ref={ref} className={flame.preview}>
        <QueryContent query={query} skeleton={<BlockSkeleton height={240} />}>
          {(loaded) => (
            <FlameGraph
              tree={loaded.tree}
              path={[]}
              inverted={false}
              differential
              label={t("compare.drawing")}
              title={(node) => text.title(node, loaded)}
              onZoom={(root) =>
                void navigate({
                  to: "/comparisons/$diffId",
                  params: { diffId: diff.id },
                  search: { root: String(root) },
                })
              }
              onFocus={setFocus}
            />
          )}
        </QueryContent>
        <figcaption className={flame.previewCaption}>
          <span className={flame.previewFrame}>
            {focus && data ? `${focus.name} · ${formatBothSides(focus, data)}` : t("compare.hint")}
          </span>
          <Link to="/comparisons/$diffId" params={{ diffId: diff.id }}>
            {t("compare.open")}
          </Link>
        </figcaption>
      </figure>
      {data && <MergedNames id={`merged-${diff.id}`} merged={data.merged} />}
    </>
  );
}
