import { PasswordInput, type PasswordInputProps } from "@mantine/core";
import { useTranslation } from "../../lib/text/useTranslation";

/** Render a password field whose visibility button has a label in the user's language. */
export function SecretField(props: PasswordInputProps) {
  const { t } = useTranslation();
  return <PasswordInput visibilityToggleButtonProps={{ "aria-label": t("action.showSecret") }} {...props} />;
}
