import { Select, TextInput } from "@mantine/core";
import { useState } from "react";
import type { CaptureScope, ScopeKind } from "../../client/models";
import { useTranslation } from "../../lib/text/useTranslation";
import classes from "./NewCapture.module.css";
import { isScopeValid, SCOPE_KINDS } from "./scope";

const EXAMPLES: Record<Exclude<ScopeKind, "host">, string> = {
  process: "48211",
  cgroup: "/system.slice/feed.service",
  unit: "feed.service",
  container: "feed-7f9c",
  port: "8080",
};

interface Props {
  scope: CaptureScope;
  /** The server's error for this scope. */
  refused: string | undefined;
  onChange: (scope: CaptureScope) => void;
}

/** Form fields of the scope: the whole host, or a process, cgroup, unit, container or port. */
export function ScopeFields({ scope, refused, onChange }: Props) {
  const { t } = useTranslation();
  const [left, setLeft] = useState(scope.value !== "");
  const { kind, value } = scope;
  const problem =
    kind !== "host" && left && !isScopeValid(scope) ? t(`newCapture.scopeBad.${kind}`) : refused;
  return (
    <div className={classes.scope}>
      <Select
        label={t("newCapture.scope")}
        description={t(`newCapture.scopeText.${kind}`)}
        data={SCOPE_KINDS.map((scopeKind) => ({
          value: scopeKind,
          label: t(`newCapture.scopeKinds.${scopeKind}`),
        }))}
        value={kind}
        onChange={(next) => {
          setLeft(false);
          if (next) onChange({ kind: next as ScopeKind, value: "" });
        }}
        allowDeselect={false}
        error={kind === "host" && refused}
      />
      {kind !== "host" && (
        <TextInput
          label={t(`newCapture.scopeValue.${kind}`)}
          description={t("newCapture.scopeEach")}
          placeholder={EXAMPLES[kind]}
          classNames={{ input: "mono" }}
          inputMode={kind === "process" || kind === "port" ? "numeric" : "text"}
          autoComplete="off"
          spellCheck={false}
          maxLength={1024}
          value={value}
          onChange={(event) => onChange({ kind, value: event.currentTarget.value.trim() })}
          onBlur={() => setLeft(value !== "")}
          error={problem}
        />
      )}
    </div>
  );
}
