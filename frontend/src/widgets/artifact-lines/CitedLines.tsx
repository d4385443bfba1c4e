import { useQuery } from "@tanstack/react-query";
import { ErrorLine, RowSkeleton } from "../../components/EmptyState";
import { Link } from "../../components/Link";
import { cx } from "../../core/cx";
import { get, usePermission } from "../../lib/queries";
import { useTranslation } from "../../lib/text/useTranslation";
import classes from "./CitedLines.module.css";

const BEFORE = 1;
const ROWS = 6;

interface Props {
  artifact: string;
  lines: readonly number[];
  /** Display name of the artifact. */
  name: string;
  run?: string | undefined;
}

/** Render the cited lines of an artifact, preceded by the line before them. Renders nothing without permission. */
export function CitedLines({ artifact, lines, name, run }: Props) {
  const { t } = useTranslation();
  const can = usePermission();
  const first = lines[0] ?? 1;
  const from = Math.max(1, first - BEFORE);
  const cited = new Set(lines);
  const reads = can("artifact.read");
  const query = useQuery({
    queryKey: ["artifacts", artifact, from, ROWS],
    queryFn: () => get(`/artifacts/${artifact}/lines`, { from, count: ROWS }),
    enabled: reads,
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (!reads) return null;
  return (
    <figure className={classes.figure}>
      <figcaption className={classes.name}>
        <Link
          to="/artifacts/$artifactId"
          params={{ artifactId: artifact }}
          search={{
            line: String(first),
            lines: lines.length > 1 ? lines.slice(0, 40).join(",") : undefined,
            run,
          }}
          size="xs"
        >
          {name} · {t("findings.line", { count: lines.length, numbers: lines.slice(0, 3).join(", ") })}
        </Link>
      </figcaption>
      {query.data ? (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: lines that scroll sideways must be reachable by keyboard
        <pre className={classes.lines} tabIndex={0}>
          {query.data.lines.map((line, i) => {
            const at = query.data.from + i;
            return (
              <span key={at} className={cx(classes.line, cited.has(at) && classes.marked)}>
                <span className={classes.number}>{at}</span>
                {line}
                {"\n"}
              </span>
            );
          })}
        </pre>
      ) : query.error ? (
        <ErrorLine error={query.error} />
      ) : (
        <RowSkeleton rows={ROWS} height={18} />
      )}
    </figure>
  );
}
