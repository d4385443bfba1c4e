import { useElementSize } from "@mantine/hooks";
import { useParams } from "@tanstack/react-router";
import { useState } from "react";
import { BlockSkeleton, EmptyState, QueryContent } from "../../components/EmptyState";
import { ButtonLink, Link } from "../../components/Link";
import { LoadingPage } from "../../components/LoadingPage";
import { Page, Panel } from "../../components/Page";
import { RunStateIcon } from "../../components/StatusIcon";
import { formatBothSides } from "../../core/profiles/difference";
import type { FlameNode } from "../../core/profiles/flame";
import { formatCount, formatDuration } from "../../core/text/format";
import { useMessage } from "../../lib/text/i18n";
import { useTimeFormat } from "../../lib/text/useFormat";
import { useTranslation } from "../../lib/text/useTranslation";
import { useUrlState } from "../../lib/urlState";
import { ComparisonLegend } from "../../widgets/flame-graph/ComparisonLegend";
import { FlameGraph } from "../../widgets/flame-graph/FlameGraph";
import { MergedNames } from "../../widgets/flame-graph/MergedNames";
import { useChangeText } from "../../widgets/flame-graph/useChangeText";
import { PinButton } from "../../widgets/pins/PinButton";
import { type Comparison, useComparison, useComparisonTree, useComparisonWork, useProfile } from "./api";
import { ChangedPaths } from "./ChangedPaths";
import { ChangedFunctions } from "./comparison/ChangedFunctions";
import { ComparisonBar } from "./comparison/ComparisonBar";
import { COMPARISON_FIELDS, toParams } from "./comparison/state";
import { toSearch } from "./filter";
import classes from "./Profile.module.css";

/** Differential flame graph of two profiles: red frames grew, blue frames shrank, each by more than chance. */
export function ComparisonPage() {
  const { diffId } = useParams({ strict: false }) as { diffId: string };
  const { t } = useTranslation();
  const formatMessage = useMessage();
  const query = useComparison(diffId);
  const diff = query.data;
  if (!diff)
    return (
      <LoadingPage
        title={t("compare.title")}
        above={<Link to="/profiles">{t("nav.profiles")}</Link>}
        query={query}
        actionsWidth={220}
      >
        <BlockSkeleton height={640} />
      </LoadingPage>
    );
  return (
    <Page
      title={t("compare.title")}
      above={<Link to="/profiles">{t("nav.profiles")}</Link>}
      actions={
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
            search={{ ap: diff.a.profile_id, bp: diff.b.profile_id }}
          >
            {t("compare.others")}
          </ButtonLink>
        </>
      }
    >
      {(diff.state === "queued" || diff.state === "running") && (
        <EmptyState title={<RunStateIcon state={diff.state} />}>
          {t(`profile.waiting.${diff.state}`)}
        </EmptyState>
      )}
      {diff.state === "failed" && (
        <EmptyState title={t("compare.failed")}>{formatMessage(diff.failure)}</EmptyState>
      )}
      {diff.state === "ready" && <ComparisonPanel diff={diff} />}
    </Page>
  );
}

function ComparisonPanel({ diff }: { diff: Comparison }) {
  const { t } = useTranslation();
  const text = useChangeText();
  const { ref, width } = useElementSize<HTMLDivElement>();
  const [state, set] = useUrlState(COMPARISON_FIELDS);
  const [focus, setFocus] = useState<FlameNode | null>(null);
  const work = useComparisonWork(diff.id, state.by === "work");
  const params = toParams(state, work.data);
  const tree = useComparisonTree(diff.id, params, {
    width: Math.round(width / 50) * 50,
    root: Number(state.root) || undefined,
    width_of: state.width,
  });
  const data = params ? tree.data : undefined;
  const [a, b] = state.swap ? [diff.b, diff.a] : [diff.a, diff.b];
  const draw = (side: "a" | "b") => (node: number) => {
    set({ root: String(node), width: side }, { push: true });
    document.querySelector("main")?.scrollIntoView({ behavior: "smooth" });
  };
  const modules = Object.keys(data?.modules ?? {}).map((name) => name.replace(/\+?0x…$/, ""));
  return (
    <>
      <Panel flush>
        <ComparisonBar normalizations={data?.normalizations} work={work.data} />
        <div className={classes.sides}>
          <SideLine name="A" side={a} samples={data?.samples_a} />
          <SideLine name="B" side={b} samples={data?.samples_b} />
          <span className={classes.legend}>
            <ComparisonLegend />
          </span>
        </div>
        <div ref={ref} className={classes.body}>
          {params ? (
            <QueryContent query={tree} skeleton={<BlockSkeleton height={420} />}>
              {(loaded) => (
                <div className={classes.drawing}>
                  <FlameGraph
                    fitsView
                    tree={loaded.tree}
                    path={loaded.path ?? []}
                    inverted={state.view === "icicle"}
                    differential
                    label={t("compare.drawing")}
                    title={(node) => text.title(node, loaded)}
                    onZoom={(id) =>
                      set(
                        {
                          root:
                            String(id) === String(loaded.path?.[0]?.id ?? loaded.tree.id) ? "" : String(id),
                        },
                        { push: true },
                      )
                    }
                    onFocus={setFocus}
                  />
                </div>
              )}
            </QueryContent>
          ) : (
            <p className={classes.empty}>{t("compare.workMissing")}</p>
          )}
        </div>
        <div className={classes.detail} aria-live="polite" data-testid="detail">
          {focus && data ? (
            <>
              <span className={classes.name}>{focus.name}</span>
              <span className={classes.figures}>
                <span className="num">{formatBothSides(focus, data)}</span>
                <span>{text.reason(focus, data)}</span>
              </span>
            </>
          ) : (
            <span className="dim">{t("compare.hint")}</span>
          )}
        </div>
      </Panel>
      {data && (
        <p className={classes.note}>
          {t("compare.tests", { tests: data.tests })} {data.bursts === "assumed" && t("compare.assumed")}{" "}
          {modules.length > 0 &&
            t("compare.modules", { count: modules.length, names: modules.slice(0, 8).join(", ") })}
        </p>
      )}
      {params && <ChangedFunctions id={diff.id} params={params} />}
      {data && (
        <div className={classes.columns}>
          <ChangedPaths
            title={t("compare.vanished")}
            empty={t("compare.vanishedNone")}
            rows={data.vanished}
            side="a"
            head={data}
            onDraw={draw("a")}
          />
          <ChangedPaths
            title={t("compare.new")}
            empty={t("compare.newNone")}
            rows={data.new}
            side="b"
            head={data}
            onDraw={draw("b")}
          />
        </div>
      )}
      {data && <MergedNames id="merged" merged={data.merged} />}
    </>
  );
}

interface SideProps {
  name: string;
  side: Comparison["a"];
  samples: number | undefined;
}

function SideLine({ name, side, samples }: SideProps) {
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
        {from_ns != null && to_ns != null && ` + ${formatDuration(to_ns - from_ns)}`}
      </span>{" "}
      <FilterText filter={side.filter} />
      {samples !== undefined && (
        <span className="num">
          {formatCount(samples)} {t("profile.samples")}
        </span>
      )}
    </span>
  );
}

/** Filter of a side: processes, threads and CPUs. */
function FilterText({ filter }: { filter: Comparison["a"]["filter"] }) {
  const { t } = useTranslation();
  const words = [
    ...(filter.comm ?? []),
    ...(filter.pid ?? []).map((pid) => `pid ${pid}`),
    ...(filter.thread ?? []),
    ...(filter.tid ?? []).map((tid) => `tid ${tid}`),
    ...(filter.cpu ?? []).map((cpu) => `CPU ${cpu}`),
    ...(filter.hide_idle ? [t("profile.hideIdle")] : []),
  ];
  return words.length > 0 ? <span className={classes.filterText}>{words.join(", ")} </span> : null;
}
