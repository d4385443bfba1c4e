import { useElementSize } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { BlockSkeleton, QueryContent } from "../../components/EmptyState";
import { Link } from "../../components/Link";
import { type FlameNode, findFramePath, findFramesByName } from "../../core/profiles/flame";
import { formatPercent } from "../../core/text/format";
import { get, queryKeys } from "../../lib/queries";
import { useTranslation } from "../../lib/text/useTranslation";
import { listField } from "../../lib/urlState";
import { FlameGraph } from "./FlameGraph";
import classes from "./FlameGraph.module.css";

interface Props {
  profile: string;
  /** Plain name or regular expression; matching frames are highlighted. */
  frame: string;
}

/**
 * Return the ids of matching frames. A plain name matches as text, everything else as a regular expression; an
 * expression that JavaScript cannot parse matches nothing.
 */
function matching(tree: FlameNode, frame: string): Set<FlameNode["id"]> {
  if (/^[\w:.~ -]+$/.test(frame)) return findFramesByName(tree, frame);
  try {
    const pattern = new RegExp(frame);
    const matches = new Set<FlameNode["id"]>();
    const stack = [tree];
    for (let node = stack.pop(); node; node = stack.pop()) {
      if (pattern.test(node.name)) matches.add(node.id);
      stack.push(...(node.children ?? []));
    }
    return matches;
  } catch {
    return new Set();
  }
}

/** Render a small flame graph with highlighted frames. A click on a frame opens the profile at that frame. */
export function ProfilePreview({ profile, frame }: Props) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const { ref, width } = useElementSize<HTMLDivElement>();
  const [focus, setFocus] = useState<FlameNode | null>(null);
  const wide = Math.round(width / 50) * 50;
  const query = useQuery({
    queryKey: [...queryKeys.profiles, profile, "tree", { hide_idle: true }, { width: wide }],
    queryFn: ({ signal }) => get(`/profiles/${profile}/tree`, { hide_idle: true, width: wide }, signal),
    enabled: wide > 0,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const tree = query.data?.tree;
  const matches = useMemo(() => (tree && frame ? matching(tree, frame) : undefined), [tree, frame]);
  const open = (frame: FlameNode["id"]) => {
    const names = tree ? findFramePath(tree, frame).map((node) => node.name) : [];
    void navigate({
      to: "/profiles/$profileId",
      params: { profileId: profile },
      search: { at: listField.format(names.slice(1)), idle: "1" },
    });
  };
  return (
    <figure ref={ref} className={classes.preview}>
      <QueryContent query={query} skeleton={<BlockSkeleton height={240} />}>
        {(data) => (
          <FlameGraph
            tree={data.tree}
            path={data.path ?? []}
            inverted={false}
            matches={matches}
            label={t("profile.drawing", { samples: data.samples })}
            title={(node) => node.name}
            onZoom={open}
            onFocus={setFocus}
          />
        )}
      </QueryContent>
      <figcaption className={classes.previewCaption}>
        <span className={classes.previewFrame}>
          {focus
            ? `${focus.name} · ${formatPercent(query.data && query.data.total > 0 ? focus.value / query.data.total : 0)}`
            : t("profile.hint")}
        </span>
        <Link to="/profiles/$profileId" params={{ profileId: profile }} search={{ idle: "1" }}>
          {t("incidents.views.profile")}
        </Link>
      </figcaption>
    </figure>
  );
}
