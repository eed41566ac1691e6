"""Models and their variants: recipes, building, the shelf they are kept on, graph digests, inputs."""
