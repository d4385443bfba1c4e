import { useElementSize } from "@mantine/hooks";
import { useParams } from "@tanstack/react-router";
import { useState } from "react";
import { BlockSkeleton, EmptyState, ErrorState, Loaded } from "../../components/EmptyState";
import { ButtonLink, Link } from "../../components/Link";
import { Page, Panel } from "../../components/Page";
import { RunStateIcon } from "../../components/StatusIcon";
import { sharesOf } from "../../core/profiles/difference";
import type { FlameNode } from "../../core/profiles/flame";
import { count, duration } from "../../core/text/format";
import { useMessage } from "../../lib/text/i18n";
import { useTimeFormat } from "../../lib/text/useFormat";
import { useTranslation } from "../../lib/text/useTranslation";
import { choiceField, textField, useUrlState } from "../../lib/urlState";
import { ComparisonLegend } from "../../widgets/flame-graph/ComparisonLegend";
import { FlameGraph } from "../../widgets/flame-graph/FlameGraph";
import { MergedNames } from "../../widgets/flame-graph/MergedNames";
import { PinButton } from "../../widgets/pins/PinButton";
import { type Comparison, useComparison, useComparisonTree, useProfile } from "./api";
import { ChangedPaths } from "./ChangedPaths";
import { toSearch } from "./filter";
import classes from "./Profile.module.css";

const FIELDS = { root: textField, view: choiceField(["flame", "icicle"] as const, "flame") };

/** Two profiles as one drawing: width is B, red grew, blue shrank; what vanished is listed, for it has no width. */
export function ComparisonPage() {
  const { diffId } = useParams({ strict: false }) as { diffId: string };
  const { t } = useTranslation();
  const sentence = useMessage();
  const query = useComparison(diffId);
  const diff = query.data;
  return (
    <Page
      title={t("compare.title")}
      actions={
        diff && (
          <>
            <PinButton
              target={{
                kind: "comparison",
                ref: { left: diff.a.profile_id, right: diff.b.profile_id, what: "profiles" },
              }}
              label={t("incidents.pin.comparison")}
            />
            <ButtonLink
              variant="default"
              to="/compare"
              search={{ ap: diff.b.profile_id, bp: diff.a.profile_id }}
            >
              {t("compare.swap")}
            </ButtonLink>
          </>
        )
      }
    >
      {query.error && !diff && <ErrorState error={query.error} retry={() => void query.refetch()} />}
      {!diff && !query.error && <BlockSkeleton height={480} />}
      {diff && (diff.state === "queued" || diff.state === "running") && (
        <EmptyState title={<RunStateIcon state={diff.state} />}>
          {t(`profile.waiting.${diff.state}`)}
        </EmptyState>
      )}
      {diff?.state === "failed" && (
        <EmptyState title={t("compare.failed")}>{sentence(diff.failure)}</EmptyState>
      )}
      {diff?.state === "ready" && <ComparisonPanel diff={diff} />}
    </Page>
  );
}

function ComparisonPanel({ diff }: { diff: Comparison }) {
  const { t } = useTranslation();
  const { ref, width } = useElementSize<HTMLDivElement>();
  const [state, set] = useUrlState(FIELDS);
  const [focus, setFocus] = useState<FlameNode | null>(null);
  const tree = useComparisonTree(
    diff.id,
    { width: Math.round(width / 50) * 50, root: Number(state.root) || undefined },
    true,
  );
  const data = tree.data;
  return (
    <>
      <Panel flush>
        <div className={classes.sides}>
          <SideLine name="A" side={diff.a} total={data?.total_a} />
          <SideLine name="B" side={diff.b} total={data?.total_b} />
          <span className={classes.legend}>
            <ComparisonLegend />
          </span>
        </div>
        <div ref={ref} className={classes.body}>
          <Loaded query={tree} skeleton={<BlockSkeleton height={420} />}>
            {(loaded) => (
              <div className={classes.drawing}>
                <FlameGraph
                  tree={loaded.tree}
                  path={loaded.path ?? []}
                  inverted={state.view === "icicle"}
                  differential
                  label={t("compare.drawing")}
                  title={(node) => `${node.name}\n${sharesOf(node, loaded.total_a, loaded.total_b)}`}
                  onZoom={(id) =>
                    set(
                      {
                        root: String(id) === String(loaded.path?.[0]?.id ?? loaded.tree.id) ? "" : String(id),
                      },
                      { push: true },
                    )
                  }
                  onFocus={setFocus}
                />
              </div>
            )}
          </Loaded>
        </div>
        <div className={classes.detail} aria-live="polite" data-testid="detail">
          {focus && data ? (
            <>
              <span className={classes.name}>{focus.name}</span>
              <span className={classes.figures}>
                <span className="num">{sharesOf(focus, data.total_a, data.total_b)}</span>
              </span>
            </>
          ) : (
            <span className="dim">{t("compare.hint")}</span>
          )}
        </div>
      </Panel>
      {data && (
        <div className={classes.columns}>
          <ChangedPaths
            title={t("compare.vanished")}
            empty={t("compare.vanishedNone")}
            rows={data.vanished.map((row) => ({ path: row.path, weight: row.a }))}
            total={data.total_a}
          />
          <ChangedPaths
            title={t("compare.new")}
            empty={t("compare.newNone")}
            rows={data.new.map((row) => ({ path: row.path, weight: row.b }))}
            total={data.total_b}
          />
        </div>
      )}
      {data && <MergedNames id="merged" merged={data.merged} />}
    </>
  );
}

function SideLine({ name, side, total }: { name: string; side: Comparison["a"]; total: number | undefined }) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const profile = useProfile(side.profile_id).data;
  const { from_ns, to_ns } = side.filter;
  return (
    <span>
      <strong>{name}</strong>{" "}
      <Link to="/profiles/$profileId" params={{ profileId: side.profile_id }} search={toSearch(side.filter)}>
        {profile?.host?.name ?? profile?.label ?? t("profile.imported")}
      </Link>{" "}
      {side.profiles > 1 && <span>{t("compare.more", { count: side.profiles - 1 })} </span>}
      <span className="num dim">
        {time.instant(from_ns ?? profile?.t0_ns)}
        {from_ns != null && to_ns != null && ` + ${duration(to_ns - from_ns)}`}
      </span>{" "}
      {total !== undefined && (
        <span className="num">
          {count(total)} {t("profile.samples")}
        </span>
      )}
    </span>
  );
}
