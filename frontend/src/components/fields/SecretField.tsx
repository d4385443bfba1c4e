import { PasswordInput, type PasswordInputProps } from "@mantine/core";
import { useTranslation } from "../../lib/text/useTranslation";

/** A field for a secret, whose show and hide button has a label in the reader's language. */
export function SecretField(props: PasswordInputProps) {
  const { t } = useTranslation();
  return <PasswordInput visibilityToggleButtonProps={{ "aria-label": t("action.showSecret") }} {...props} />;
}
