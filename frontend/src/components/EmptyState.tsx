import { Button, Skeleton } from "@mantine/core";
import { CircleAlert, RotateCw } from "lucide-react";
import type { ReactNode } from "react";
import { ApiError, UnreachableError } from "../lib/api";
import { useMessage } from "../lib/text/i18n";
import { useTranslation } from "../lib/text/useTranslation";
import classes from "./EmptyState.module.css";
import { CodeSpans } from "./text/CodeSpans";

interface EmptyStateProps {
  title: ReactNode;
  children?: ReactNode;
  action?: ReactNode;
}

/** Render why a list is empty, and the next action. */
export function EmptyState({ title, children, action }: EmptyStateProps) {
  return (
    <div className={classes.state}>
      <p className={classes.title}>{title}</p>
      {children && <div className={classes.text}>{children}</div>}
      {action && <div className={classes.action}>{action}</div>}
    </div>
  );
}

/** Return the text of an error, in the user's language if the server sent a message key. */
export function useErrorText(): (error: unknown) => string {
  const { t } = useTranslation();
  const formatMessage = useMessage();
  return (error) => {
    if (error instanceof UnreachableError) return t("error.unreachable");
    if (error instanceof ApiError) {
      if (error.sentence) return formatMessage(error.sentence);
      if (error.status === 403) return error.detail || t("error.forbidden");
      if (error.status === 404) return t("error.notFound");
      if (error.status >= 500) return error.detail || t("error.server", { status: error.status });
      return error.detail || error.title || t("error.status", { status: error.status });
    }
    return error instanceof Error ? error.message : String(error);
  };
}

interface ErrorProps {
  error: unknown;
  retry?: () => void;
  /** Text before the reason: the content that failed to load. */
  title?: ReactNode;
}

/** Return whether what was requested does not exist, or was deleted. Then a second request does not help. */
const isGone = (error: unknown): boolean =>
  error instanceof ApiError && (error.status === 404 || error.status === 410);

/** Render an error in place of content that failed to load, and the next action. */
export function ErrorState({ error, retry, title }: ErrorProps) {
  const { t } = useTranslation();
  const text = useErrorText();
  return (
    <div className={classes.state} role="alert">
      <p className={classes.title}>
        <CircleAlert size={16} className={classes.bad} aria-hidden /> {title ?? t("error.title")}
      </p>
      <div className={classes.text}>
        <CodeSpans text={text(error)} />
      </div>
      {retry && !isGone(error) && (
        <div className={classes.action}>
          <Button variant="default" leftSection={<RotateCw size={14} />} onClick={retry}>
            {t("action.retry")}
          </Button>
        </div>
      )}
    </div>
  );
}

/** Render an error next to a form or button. */
export function ErrorLine({ error }: { error: unknown }) {
  const text = useErrorText();
  if (!error) return null;
  return (
    <p className={classes.line} role="alert">
      <CircleAlert size={14} aria-hidden />{" "}
      <span>
        <CodeSpans text={text(error)} />
      </span>
    </p>
  );
}

/** Render placeholder rows with the height of the content. */
export function RowSkeleton({ rows = 8, height = 28 }: { rows?: number; height?: number }) {
  const { t } = useTranslation();
  return (
    <div role="status" aria-label={t("state.loading")}>
      {Array.from({ length: rows }, (_, i) => (
        <div key={i} className={classes.row} style={{ height }}>
          <Skeleton height={10} width={`${38 + ((i * 29) % 52)}%`} radius="xs" />
        </div>
      ))}
    </div>
  );
}

/** Height from which a placeholder has room for a text, px. */
const MIN_HEIGHT_OF_TEXT = 80;

/** Render a placeholder block with the height of a chart. It is labeled if loading takes longer than a second. */
export function BlockSkeleton({ height }: { height: number }) {
  const { t } = useTranslation();
  return (
    <div role="status" aria-label={t("state.loading")} className={classes.block} style={{ height }}>
      <Skeleton height="100%" radius="xs" />
      {height >= MIN_HEIGHT_OF_TEXT && (
        <span className={classes.loadingText} aria-hidden>
          {t("state.loading")}…
        </span>
      )}
    </div>
  );
}

interface QueryLike<T> {
  data: T | undefined;
  error: unknown;
  isPlaceholderData?: boolean;
  refetch: () => unknown;
}

interface QueryContentProps<T> {
  query: QueryLike<T>;
  skeleton?: ReactNode;
  children: (data: T) => ReactNode;
  /** Keep the content mounted while new data loads, so that a chart keeps its focus. */
  inPlace?: boolean;
}

/** Render the content, skeleton or error of a query. Old content stays, dimmed, while new content loads. */
export function QueryContent<T>({ query, skeleton, children, inPlace = false }: QueryContentProps<T>) {
  if (query.data !== undefined)
    return query.isPlaceholderData || inPlace ? (
      <div
        className={query.isPlaceholderData ? classes.stale : undefined}
        aria-busy={query.isPlaceholderData}
      >
        {children(query.data)}
      </div>
    ) : (
      children(query.data)
    );
  if (query.error) return <ErrorState error={query.error} retry={() => void query.refetch()} />;
  return skeleton ?? <RowSkeleton />;
}
