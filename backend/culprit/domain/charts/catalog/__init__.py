"""Chart builders, one per module; each module defines BUILDER."""
