"""The behaviours that every operator is held to. A package, so that an installed suite can name it:
`pytest --pyargs conformance.shipped.cases`."""
